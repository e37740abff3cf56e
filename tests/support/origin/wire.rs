//! HTTP/1.1 as the shop hears it. Read by hand, because a library would tidy or refuse just what a test wants to see:
//! the raw target, every header line in order, and whether a second request hid behind the first.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A request off the wire.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub lines: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The request line and header lines taken apart.
    pub fn from_head(head: &[String]) -> Self {
        let mut first = head.first().map(String::as_str).unwrap_or_default().splitn(3, ' ');
        let method = first.next().unwrap_or_default().to_owned();
        let target = first.next().unwrap_or_default().to_owned();
        let lines = head.iter().skip(1).map(|line| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name.to_owned(), value.trim().to_owned())
        });
        Self { method, target, lines: lines.collect(), body: Vec::new() }
    }

    /// All values of a header, in order.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let same = self.lines.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        same.map(|(_, v)| v.as_str()).collect()
    }

    /// A header's first value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// Reads the lines of a head; `None` when the connection ended before one.
pub async fn read_head(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<String>>> {
    let mut head = Vec::new();
    loop {
        let mut line = Vec::new();
        if stream.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        match (line.is_empty(), head.is_empty()) {
            (true, true) => {}
            (true, false) => return Ok(Some(head)),
            (false, _) => head.push(line),
        }
    }
}

/// Reads the body that a head announces.
pub async fn read_body(stream: &mut (impl AsyncBufRead + Unpin), request: &Request) -> io::Result<Vec<u8>> {
    if request.all("transfer-encoding").iter().any(|v| v.to_ascii_lowercase().contains("chunked")) {
        return read_chunks(stream).await;
    }
    let length = request.header("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

async fn read_chunks(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size];
        stream.read_exact(&mut chunk).await?;
        body.extend_from_slice(&chunk);
        stream.read_line(&mut String::new()).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// An answer of the shop.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub chunked: bool,
    pub delay: Duration,
}

impl Answer {
    /// A 200 of this kind.
    pub fn ok(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let delay = Duration::ZERO;
        Self { status: 200, kind, headers: Vec::new(), body: body.into(), chunked: false, delay }
    }

    /// Writes it; the body is left out for HEAD.
    pub async fn write(&self, out: &mut (impl AsyncWrite + Unpin), head_only: bool) -> io::Result<()> {
        let mut head =
            format!("HTTP/1.1 {} Told\r\ncontent-type: {}\r\nx-shop: here\r\n", self.status, self.kind);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &match self.chunked {
            true => "transfer-encoding: chunked\r\n\r\n".to_owned(),
            false => format!("content-length: {}\r\n\r\n", self.body.len()),
        };
        out.write_all(head.as_bytes()).await?;
        match (head_only, self.chunked) {
            (true, _) => Ok(()),
            (false, false) => out.write_all(&self.body).await,
            (false, true) => self.write_chunks(out).await,
        }?;
        out.flush().await
    }

    async fn write_chunks(&self, out: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        for chunk in self.body.chunks(16 * 1024) {
            out.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
            out.write_all(chunk).await?;
            out.write_all(b"\r\n").await?;
        }
        out.write_all(b"0\r\n\r\n").await
    }
}
