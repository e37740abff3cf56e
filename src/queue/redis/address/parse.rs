//! Reads an address. Each error says which piece is wrong and what belongs there; none repeats a piece, because any
//! of them may be a part of a password that was not escaped.

use std::net::Ipv6Addr;

use super::{Address, HOSTS_MAX, Host, Login, MASK, PORT, SENTINEL_PORT, To};

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAddress(String);

type Parsed<T> = Result<T, BadAddress>;

fn bad<T>(why: impl Into<String>) -> Parsed<T> {
    Err(BadAddress(why.into()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Server,
    Sentinel,
    Cluster,
}

pub(super) fn address(text: &str) -> Parsed<Address> {
    let schemes = || {
        BadAddress(
        "expected redis:// or rediss:// (TLS), redis+sentinel:// or rediss+sentinel://, redis+cluster:// or \
         rediss+cluster://"
            .to_owned(),
    )
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(schemes)?;
    let (tls, kind) = match scheme {
        "redis" => (false, Kind::Server),
        "rediss" => (true, Kind::Server),
        "redis+sentinel" => (false, Kind::Sentinel),
        "rediss+sentinel" => (true, Kind::Sentinel),
        "redis+cluster" => (false, Kind::Cluster),
        "rediss+cluster" => (true, Kind::Cluster),
        _ => return Err(schemes()),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if rest.contains(['@', '#']) {
        return bad("in a user or password write @ as %40, / as %2F, ? as %3F, # as %23, % as %25");
    }
    let (credentials, hosts) = authority.rsplit_once('@').map_or((None, authority), |(c, h)| (Some(c), h));
    let login = credentials.map(login).transpose()?.unwrap_or_default();
    let port = if kind == Kind::Sentinel { SENTINEL_PORT } else { PORT };
    let hosts = hosts_of(hosts, port)?;
    if kind != Kind::Sentinel && !query.is_empty() {
        return bad("nothing is expected after ?");
    }
    let path = path.strip_prefix('/').unwrap_or(path);
    match kind {
        Kind::Server => {
            let [host] = <[Host; 1]>::try_from(hosts).or_else(|_| {
                bad("one host is expected; several need redis+sentinel:// or redis+cluster://")
            })?;
            Ok(Address { tls, login, db: database(path)?, to: To::Server(host) })
        }
        Kind::Cluster if path.is_empty() => Ok(Address { tls, login, db: 0, to: To::Cluster(hosts) }),
        Kind::Cluster => bad("a cluster has no numbered databases: nothing is expected after the hosts"),
        Kind::Sentinel => {
            let (name, db) = path.split_once('/').unwrap_or((path, ""));
            let to = To::Sentinels { hosts, name: service(name)?, login: sentinel_login(query)? };
            Ok(Address { tls, login, db: database(db)?, to })
        }
    }
}

fn login(text: &str) -> Parsed<Login> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let user = Some(decoded(user, "user")?).filter(|user| !user.is_empty());
    Ok(Login { user, password: Some(secret(password)?) })
}

fn secret(text: &str) -> Parsed<String> {
    match text {
        "" => bad("the password is empty; write user:password@host"),
        MASK => bad(format!("the password was masked ({MASK}) by --print; put the real one in")),
        _ => decoded(text, "password"),
    }
}

/// `sentinel_user=...&sentinel_password=...`.
fn sentinel_login(query: &str) -> Parsed<Login> {
    let mut login = Login::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sentinel_user", user)) => login.user = Some(decoded(user, "sentinel_user")?),
            Some(("sentinel_password", password)) => login.password = Some(secret(password)?),
            _ => return bad("after ? only sentinel_user=... and sentinel_password=... are known"),
        }
    }
    if login.user.is_some() && login.password.is_none() {
        return bad("sentinel_user needs a sentinel_password");
    }
    Ok(login)
}

fn service(name: &str) -> Parsed<String> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match name {
        "" => bad(
            "the name under which the sentinels know the primary is missing: redis+sentinel://host,host/NAME",
        ),
        _ if name.bytes().all(good) && name.len() <= 128 => Ok(name.to_owned()),
        _ => bad("the name of the primary is made of letters, digits, -, _ and ."),
    }
}

fn database(text: &str) -> Parsed<u32> {
    match text {
        "" => Ok(0),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().or_else(|_| bad("the number of the database is too large"))
        }
        _ => bad("the database at the end must be a number"),
    }
}

fn hosts_of(text: &str, port: u16) -> Parsed<Vec<Host>> {
    if text.is_empty() {
        return bad("the host is missing");
    }
    if text.split(',').count() > HOSTS_MAX {
        return bad(format!("more than {HOSTS_MAX} hosts"));
    }
    text.split(',').enumerate().map(|(index, text)| host(text, index + 1, port)).collect()
}

fn host(text: &str, index: usize, port: u16) -> Parsed<Host> {
    let (name, written) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (text, None),
    };
    let port = match written {
        None => Some(port),
        Some(port) => port.parse().ok().filter(|p| *p > 0 && port.bytes().all(|byte| byte.is_ascii_digit())),
    };
    let wrong = |what: &str| BadAddress(format!("host {index} {what}"));
    let port = port.ok_or_else(|| wrong("has a port that is no number from 1 to 65535"))?;
    let name = if let Some(inside) = name.strip_prefix('[') {
        let number = inside.strip_suffix(']').and_then(|inside| inside.parse::<Ipv6Addr>().ok());
        number.map(|number| number.to_string())
    } else {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (!name.is_empty() && name.len() <= 253 && name.bytes().all(good)).then(|| name.to_ascii_lowercase())
    };
    let name = name.ok_or_else(|| wrong("is no name and no address; write host:port or [IPv6]:port"))?;
    Ok(Host { name, port })
}

/// Resolves `%XX`.
fn decoded(text: &str, what: &str) -> Parsed<String> {
    let wrong = || BadAddress(format!("the {what} holds a % that does not begin an escape such as %40"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let value = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or_else(wrong)?);
    }
    String::from_utf8(bytes).or_else(|_| bad(format!("the {what} is no text")))
}
