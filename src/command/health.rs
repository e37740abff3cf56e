//! `ropeline health`: one question to the operator's listener, answered by the exit code. For containers and
//! supervisors whose image holds no other client. It needs no token, no runtime and no settings file.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use http::Uri;

use super::exit::{FAILURE, OK, USAGE};

/// What is asked unless another address is given.
pub const DEFAULT_URL: &str = "http://127.0.0.1:9090/livez";
/// Longest time for the connection, and for each read and write on it.
const WITHIN: Duration = Duration::from_secs(2);
/// Most bytes of the answer that are looked at.
const ANSWER_MAX: u64 = 4096;

/// Asks `url` (plain http) once. Ends with 0 when the answer is 200, 1 when it is another or none comes, 64
/// when the address cannot be used; the reason goes to `err`.
pub fn health(url: &str, err: &mut dyn Write) -> u8 {
    let (code, why) = match target(url) {
        None => (USAGE, format!("{url:?} is not an address such as {DEFAULT_URL}")),
        Some((authority, path)) => match ask(&authority, &path) {
            Ok(200) => return OK,
            Ok(status) => (FAILURE, format!("{url} answered {status}")),
            Err(error) => (FAILURE, format!("{url} did not answer: {error}")),
        },
    };
    // Nobody may be reading; the exit code still tells.
    let _ = writeln!(err, "ropeline health: {why}");
    code
}

/// Host with port, and path with query.
fn target(url: &str) -> Option<(String, String)> {
    let url: Uri = url.parse().ok()?;
    let authority = url.authority()?;
    let plain = url.scheme_str() == Some("http") && !authority.as_str().contains('@');
    let port = authority.port_u16().unwrap_or(80);
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    plain.then(|| (format!("{}:{port}", authority.host()), path.to_owned()))
}

/// The status of the answer.
fn ask(authority: &str, path: &str) -> io::Result<u16> {
    let mut stream = connect(authority)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    // In one write: a server that answers after the first piece of it would reset the rest.
    let request = format!("GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    status(&answer).ok_or_else(|| io::Error::other("what came is not HTTP"))
}

fn connect(authority: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, WITHIN) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    let text = std::str::from_utf8(line).ok()?;
    text.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Answers one connection with this text.
    fn listener(text: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // All of the request: closing with bytes unread is a reset, and may cost the client the answer.
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut some = [0; 512];
                let count = stream.read(&mut some).unwrap();
                assert!(count > 0, "the request ended early");
                asked.extend_from_slice(&some[..count]);
            }
            stream.write_all(text.as_bytes()).unwrap();
        });
        format!("http://{address}/livez")
    }

    fn told(url: &str) -> (u8, String) {
        let mut err = Vec::new();
        let code = health(url, &mut err);
        (code, String::from_utf8(err).unwrap())
    }

    #[test]
    fn only_200_is_healthy() {
        assert_eq!(told(&listener("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")), (0, String::new()));
        for (answer, says) in
            [("HTTP/1.1 503 Service Unavailable\r\n\r\n", "answered 503"), ("SSH-2.0\r\n", "not HTTP")]
        {
            let (code, err) = told(&listener(answer));
            assert!(code == 1 && err.contains(says), "{err}");
        }
    }

    #[test]
    fn nobody_there_is_a_failure_and_a_wrong_address_a_misuse() {
        // Port 1 is nobody's; one that was just given back may be taken by a neighbour meanwhile.
        assert_eq!(told("http://127.0.0.1:1/livez").0, 1);
        for bad in ["", "127.0.0.1:9090", "https://127.0.0.1/livez", "http://a@b/", "/livez"] {
            let (code, err) = told(bad);
            assert_eq!((code, err.lines().count()), (64, 1), "{bad}");
        }
    }
}
