//! The bench: an edge on a port of the system's choice, a shop behind it that keeps a journal, a gate that goes
//! by one cookie, and clients that speak raw bytes.

use std::any::Any;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method, Request as HttpRequest, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::answer::{Gate, Permit, Problem, Reply, Request, Verdict, problem};
use crate::listen::{Admit, bind};
use crate::metrics::ConnectionRefusal;
use crate::proxy::{Edge, Origin, OriginSettings, Settings, Shelf};

/// Nothing here takes so long unless it hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What the shop saw of one request.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
}

pub(super) type Journal = Arc<Mutex<Vec<Entry>>>;

/// Gates `/buy` unless the pass cookie says `ok`.
pub(super) struct Cookie;

#[async_trait]
impl Gate for Cookie {
    async fn decide(&self, request: &Request<'_>) -> Verdict {
        let cookie = request.headers.get(header::COOKIE).and_then(|v| v.to_str().ok()).unwrap_or("");
        match request.target.path().starts_with("/buy") {
            true if cookie.contains("rl_p_a=ok") => Verdict::Forward(Permit::for_tests(Some("a"), None)),
            true => Verdict::Answer(problem(WAIT, "", Some(5))),
            false => Verdict::Forward(Permit::for_tests(None, None)),
        }
    }

    async fn wait(&self, _request: &Request<'_>) -> Reply {
        Reply::Answer(problem(WAIT, "", Some(5)))
    }
}

const WAIT: Problem = Problem::new("wait", StatusCode::SERVICE_UNAVAILABLE, "Wait");

pub(super) struct Everybody;

impl Admit for Everybody {
    fn admit(&self, _peer: Option<IpAddr>) -> Result<Box<dyn Any + Send>, ConnectionRefusal> {
        Ok(Box::new(()))
    }
}

/// An edge that runs.
pub(super) struct Bench {
    pub(super) edge: SocketAddr,
    pub(super) shop: SocketAddr,
    pub(super) journal: Journal,
    pub(super) stop: watch::Sender<bool>,
    pub(super) running: JoinHandle<()>,
}

/// How a bench differs from the ordinary one.
pub(super) struct Plan {
    pub(super) settings: Settings,
    pub(super) origin: OriginSettings,
    pub(super) shelf: Option<Arc<dyn Shelf>>,
    pub(super) admit: Arc<dyn Admit>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            origin: OriginSettings { url: String::new(), ..OriginSettings::default() },
            shelf: None,
            admit: Arc::new(Everybody),
        }
    }
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::with(Plan::default()).await
    }

    pub(super) async fn with(mut plan: Plan) -> Self {
        let journal = Journal::default();
        let shop = shop(journal.clone()).await;
        if plan.origin.url.is_empty() {
            plan.origin.url = format!("http://{shop}");
        }
        let origin = Arc::new(Origin::new(plan.origin).unwrap());
        let bound = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = bound.local_addr();
        let (stop, seen) = watch::channel(false);
        let edge = Edge::new(plan.settings, origin, Arc::new(Cookie), plan.shelf, plan.admit);
        let running = tokio::spawn(async move { edge.serve(bound, seen).await });
        Self { edge: address, shop, journal, stop, running }
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.edge).await.unwrap()
    }

    /// Sends bytes on a new connection and reads until the edge closes.
    pub(super) async fn talk(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.unwrap();
        rest(&mut stream).await
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.journal.lock().unwrap().clone()
    }
}

/// A request that asks for the connection to be closed.
pub(super) fn get(target: &str, lines: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n{lines}\r\n")
}

/// Everything until the end.
pub(super) async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("an end").unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads until `mark` has come.
pub(super) async fn until(stream: &mut TcpStream, mark: &str) -> String {
    let mut all = Vec::new();
    while !String::from_utf8_lossy(&all).contains(mark) {
        let n = tokio::time::timeout(PATIENCE, stream.read_buf(&mut all)).await.expect("more").unwrap();
        assert_ne!(n, 0, "closed before {mark:?}: {}", String::from_utf8_lossy(&all));
    }
    String::from_utf8_lossy(&all).into_owned()
}

type Body = BoxBody<Bytes, hyper::Error>;

async fn shop(journal: Journal) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let journal = journal.clone();
            let serve = service_fn(move |request| serve(request, journal.clone()));
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), serve);
            tokio::spawn(connection.with_upgrades());
        }
    });
    address
}

async fn serve(mut request: HttpRequest<Incoming>, journal: Journal) -> Result<Response<Body>, Infallible> {
    journal.lock().unwrap().push(Entry {
        method: request.method().clone(),
        target: request.uri().to_string(),
        headers: request.headers().clone(),
    });
    let mut response =
        Response::new(Full::new(Bytes::from_static(b"the shop")).map_err(|e| match e {}).boxed());
    response.headers_mut().insert("x-ropeline-end", "pass".parse().unwrap());
    if request.headers().contains_key(header::UPGRADE) && !request.uri().path().ends_with("/no-upgrade") {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut io = TokioIo::new(upgrade.await.unwrap());
            let mut buffer = [0u8; 64];
            while let Ok(n @ 1..) = io.read(&mut buffer).await {
                io.write_all(&buffer[..n]).await.unwrap();
            }
        });
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert(header::UPGRADE, "websocket".parse().unwrap());
        response.headers_mut().insert(header::CONNECTION, "upgrade".parse().unwrap());
        *response.body_mut() = Empty::new().map_err(|e| match e {}).boxed();
    } else if request.uri().path().ends_with("/echo") {
        *response.body_mut() = request.into_body().boxed();
    } else if request.uri().path().ends_with("/hang") {
        std::future::pending::<()>().await;
    }
    Ok(response)
}
