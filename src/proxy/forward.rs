//! What a request looks like when it leaves for the origin, and what is taken from the response.
//!
//! Taken away from every request, in any letter case and with `_` for `-` (many servers read both as one):
//!
//! | headers | why |
//! | --- | --- |
//! | `x-ropeline-*` | only we speak in this name |
//! | `Forwarded`, `X-Forwarded-*`, `X-Real-IP`, `X-Client-IP`, `X-Cluster-Client-IP`, `True-Client-IP` | who the client is, is ours to say |
//! | `X-Original-URL`, `-URI`, `-Path`, `-Host`, `X-Rewrite-URL`, `X-Host`, `X-Waws-Unencoded-URL`, `X-Envoy-Original-Path` | frameworks let them replace the address |
//! | `X-HTTP-Method`, `X-HTTP-Method-Override`, `X-Method-Override`, `X-HTTP-Path-Override` | frameworks let them replace method or path |
//! | `Proxy` | becomes a setting in CGI programs |
//! | `Authorization`, where it holds a ticket of ours | the same; any other is the shop's |
//! | our cookies `rl_t_*`, `rl_p_*` | tokens stay here; other cookies pass byte for byte |
//!
//! A response's `x-ropeline-*` are taken away too; `x-ropeline-end: pass` among them ends the visitor's stay.
//! A renewed pass goes out as it was sent: as a cookie, or as the header `x-ropeline-pass`.
//!
//! Added: one line each of `X-Forwarded-For` (what a trusted proxy said, then the peer; else the peer alone),
//! `X-Forwarded-Proto` and `X-Forwarded-Host`; `x-ropeline-pass`, `-room`, `-visitor` of the permit; the secret.

use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use pingora::http::{RequestHeader, ResponseHeader};

use super::reading::Reading;
use super::shared;
use crate::answer::Permit;
use crate::route::Host;

const TAKEN: &[&str] = &[
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "true-client-ip",
    "x-original-url",
    "x-original-uri",
    "x-original-path",
    "x-waws-unencoded-url",
    "x-envoy-original-path",
    "x-rewrite-url",
    "x-host",
    "x-original-host",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-http-path-override",
    "proxy",
];

/// Our own headers towards the origin.
pub(super) const PASS: &str = "x-ropeline-pass";
const ROOM: &str = "x-ropeline-room";
const VISITOR: &str = "x-ropeline-visitor";
/// From the origin: the visitor's stay is over.
const END: &str = "x-ropeline-end";
const SECRET: &str = "x-ropeline-secret";

/// Makes the origin's request out of the client's. Needs the permit: nothing is forwarded without one.
pub(super) fn dress(
    request: &mut RequestHeader,
    reading: &Reading,
    permit: &Permit,
    secret: Option<&HeaderValue>,
) -> pingora::Result<()> {
    request.set_raw_path(reading.target.raw().as_bytes())?;
    let told = Told::of(request, reading);
    take_away(request);
    if permit.bearer_is_ours() {
        request.remove_header(&header::AUTHORIZATION);
    }
    cookies(request)?;
    request.insert_header("X-Forwarded-For", told.hops)?;
    request.insert_header("X-Forwarded-Proto", if reading.client.https { "https" } else { "http" })?;
    request.insert_header("X-Forwarded-Host", told.host)?;
    if let Some(pass) = permit.pass() {
        request.insert_header(PASS, pass)?;
    }
    if let Some(room) = permit.room() {
        request.insert_header(ROOM, room.as_str())?;
    }
    if let Some(visitor) = permit.visitor() {
        request.insert_header(VISITOR, visitor)?;
    }
    if let Some(secret) = secret {
        request.insert_header(SECRET, secret.clone())?;
    }
    Ok(())
}

/// What the origin is told of the way that the request took.
struct Told {
    hops: String,
    host: String,
}

impl Told {
    fn of(request: &RequestHeader, reading: &Reading) -> Self {
        let own = || reading.host.authority().to_owned();
        if !reading.client.peer_trusted {
            return Self { hops: reading.peer.to_string(), host: own() };
        }
        let lines = request.headers.get_all("x-forwarded-for").iter().filter_map(|v| v.to_str().ok());
        let mut hops: Vec<&str> =
            lines.flat_map(|line| line.split(',')).map(str::trim).filter(|h| !h.is_empty()).collect();
        let peer = reading.peer.to_string();
        hops.push(&peer);
        let host = request.headers.get("x-forwarded-host").and_then(|v| v.to_str().ok());
        let host =
            host.and_then(|host| Host::read(host).ok()).map_or_else(own, |host| host.authority().to_owned());
        Self { hops: hops.join(", "), host }
    }
}

fn take_away(request: &mut RequestHeader) {
    let taken: Vec<HeaderName> =
        request.headers.keys().filter(|name| is_taken(name.as_str())).cloned().collect();
    for name in taken {
        request.remove_header(&name);
    }
}

fn is_taken(name: &str) -> bool {
    let plain = name.replace('_', "-");
    plain.starts_with("x-ropeline-") || plain.starts_with("x-forwarded-") || TAKEN.contains(&plain.as_str())
}

fn cookies(request: &mut RequestHeader) -> pingora::Result<()> {
    let lines: Vec<HeaderValue> = request.headers.get_all(header::COOKIE).iter().cloned().collect();
    if !lines.iter().any(|line| holds_ours(line.as_bytes())) {
        return Ok(());
    }
    request.remove_header(&header::COOKIE);
    for line in lines {
        let kept = without_ours(line.as_bytes());
        if let (false, Ok(value)) = (kept.is_empty(), HeaderValue::from_bytes(&kept)) {
            request.append_header(header::COOKIE, value)?;
        }
    }
    Ok(())
}

fn holds_ours(line: &[u8]) -> bool {
    line.split(|b| *b == b';').any(is_ours)
}

/// A cookie line without our cookies; the others keep their bytes and order.
fn without_ours(line: &[u8]) -> Vec<u8> {
    if !holds_ours(line) {
        return line.to_vec();
    }
    let kept: Vec<&[u8]> = line.split(|b| *b == b';').filter(|pair| !is_ours(pair)).collect();
    kept.join(&b';').trim_ascii_start().to_vec()
}

fn is_ours(pair: &[u8]) -> bool {
    let name = pair.split(|b| *b == b'=').next().unwrap_or_default().trim_ascii().to_ascii_lowercase();
    let name = name.strip_prefix(b"__host-").unwrap_or(&name);
    name.starts_with(b"rl_t_") || name.starts_with(b"rl_p_")
}

/// Finishes the origin's response for the visitor: nothing of ours that the origin wrote, then our cookies.
pub(super) fn undress(response: &mut ResponseHeader, permit: Option<&Permit>) -> pingora::Result<()> {
    for name in ours_in(&response.headers) {
        response.remove_header(&name);
    }
    let Some(permit) = permit else { return Ok(()) };
    if let Some(control) = shared::control(permit, &response.headers) {
        response.insert_header(header::CACHE_CONTROL, control)?;
        for name in shared::TO_SHARED_CACHES {
            response.remove_header(&name);
        }
    }
    for cookie in permit.cookies() {
        response.append_header(header::SET_COOKIE, cookie.clone())?;
    }
    if let Some(pass) = permit.renewed() {
        response.insert_header(PASS, pass.clone())?;
    }
    Ok(())
}

/// Whether the shop says that it is done with the visitor: `x-ropeline-end: pass`.
pub(super) fn ends_stay(headers: &HeaderMap) -> bool {
    headers.get_all(END).iter().any(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"pass"))
}

/// Whatever version the origin spoke, we speak HTTP/1.1: pingora gives a body without a length the chunked coding,
/// which a client of HTTP/1.0 cannot read, so that one gets it up to the end of the connection. What the origin
/// said of its own connection is not the client's.
pub(super) fn frame(response: &mut ResponseHeader, client: Version) -> pingora::Result<()> {
    response.set_version(Version::HTTP_11);
    response.remove_header("keep-alive");
    response.remove_header("proxy-connection");
    if client == Version::HTTP_10 {
        response.remove_header(&header::TRANSFER_ENCODING);
    }
    Ok(())
}

fn ours_in(headers: &HeaderMap) -> Vec<HeaderName> {
    let ours = |name: &&HeaderName| name.as_str().replace('_', "-").starts_with("x-ropeline-");
    headers.keys().filter(ours).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_cookies_go_and_the_others_keep_their_bytes() {
        for (line, kept) in [
            ("a=1;b=\"x y\"; c", "a=1;b=\"x y\"; c"),
            ("rl_t_spring=abc", ""),
            ("a=1; rl_p_spring=x; b=2", "a=1; b=2"),
            ("rl_t_x=1;a=1; __Host-rl_p_x=2;  b==;", "a=1;  b==;"),
            (" RL_P_x = 1; a=1", "a=1"),
            ("xrl_t_a=1; rl_q=2", "xrl_t_a=1; rl_q=2"),
        ] {
            assert_eq!(String::from_utf8(without_ours(line.as_bytes())).unwrap(), kept, "{line}");
        }
    }

    #[test]
    fn an_answer_that_brings_a_pass_is_for_no_shared_cache() {
        let shop = || {
            let mut response = ResponseHeader::build(200, None).unwrap();
            response.insert_header("Cache-Control", "public, max-age=60").unwrap();
            response.insert_header("CDN-Cache-Control", "max-age=60").unwrap();
            response
        };
        let mut first = shop();
        undress(&mut first, Some(&Permit::for_tests(Some("a"), None))).unwrap();
        assert_eq!(first.headers[header::CACHE_CONTROL], "private, no-store");
        assert!(!first.headers.contains_key("cdn-cache-control"));
        let mut later = shop();
        undress(&mut later, None).unwrap();
        assert_eq!(later.headers[header::CACHE_CONTROL], "public, max-age=60");
    }

    #[test]
    fn forged_names_are_taken_in_any_spelling() {
        for name in [
            "x-ropeline-pass",
            "x_ropeline_pass",
            "x-ropeline_room",
            "forwarded",
            "x_forwarded_for",
            "x-original_url",
            "x-waws-unencoded-url",
            "x-original-path",
            "x-cluster-client-ip",
        ] {
            assert!(is_taken(name), "{name}");
        }
        for name in ["host", "cookie", "x-requested-with", "xropeline-pass", "authorization"] {
            assert!(!is_taken(name), "{name}");
        }
    }
}
