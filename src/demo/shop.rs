//! A ticket shop as small as one can be: an event page, a count, a form, an order. It keeps its stock in memory, sells
//! a ticket once however often the form is sent, and knows nothing of waiting rooms.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{Html, IntoResponse, Json, Redirect, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{form, pages};

/// Longest name on a ticket, in characters.
const NAME_MAX: usize = 80;
/// Largest form, in bytes.
const FORM_MAX: usize = 4096;

/// A shop that is open until this is dropped.
#[derive(Debug)]
pub struct Shop {
    addr: SocketAddr,
    stock: Arc<Stock>,
    serving: JoinHandle<()>,
}

/// A sold ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The ticket's number, from 1.
    pub ticket: u32,
    /// The name on it.
    pub name: String,
}

/// Tickets and orders; there are never more orders than tickets.
#[derive(Debug)]
struct Stock {
    tickets: u32,
    orders: Mutex<HashMap<String, Order>>,
}

/// Opens a shop with this many tickets. Call it inside a tokio runtime.
///
/// # Errors
/// When the listener does not know its address.
pub fn start(listener: TcpListener, tickets: u32) -> io::Result<Shop> {
    let addr = listener.local_addr()?;
    let stock = Arc::new(Stock { tickets, orders: Mutex::default() });
    let router = router(Arc::clone(&stock));
    let serving = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the demo's shop has closed");
        }
    });
    Ok(Shop { addr, stock, serving })
}

impl Shop {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Tickets that are left.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.stock.remaining()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Stock {
    fn orders(&self) -> std::sync::MutexGuard<'_, HashMap<String, Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remaining(&self) -> u32 {
        self.tickets.saturating_sub(u32::try_from(self.orders().len()).unwrap_or(u32::MAX))
    }

    /// The order under this key, made now if there is none and a ticket is left.
    fn claim(&self, key: &str, name: &str) -> Option<Order> {
        let mut orders = self.orders();
        if let Some(order) = orders.get(key) {
            return Some(order.clone());
        }
        let sold = u32::try_from(orders.len()).unwrap_or(u32::MAX);
        if sold >= self.tickets {
            return None;
        }
        let order = Order { ticket: sold + 1, name: name.chars().take(NAME_MAX).collect() };
        orders.insert(key.to_owned(), order.clone());
        Some(order)
    }
}

fn router(stock: Arc<Stock>) -> Router {
    Router::new()
        .route("/", get(event))
        .route("/api/remaining", get(remaining))
        .route("/buy", get(new_form).post(claim))
        .route("/buy/orders/{key}", get(order))
        .fallback(async || not_found())
        .layer(DefaultBodyLimit::max(FORM_MAX))
        .with_state(stock)
}

async fn event(State(stock): State<Arc<Stock>>) -> Html<String> {
    Html(pages::event(stock.remaining()))
}

async fn remaining(State(stock): State<Arc<Stock>>) -> Response {
    let body = serde_json::json!({"remaining": stock.remaining(), "total": stock.tickets});
    ([(CACHE_CONTROL, "public, max-age=1")], Json(body)).into_response()
}

async fn new_form(State(stock): State<Arc<Stock>>) -> Response {
    if stock.remaining() == 0 {
        return sold_out();
    }
    let key = format!("{:032x}", rand::random::<u128>());
    ([(CACHE_CONTROL, "no-store")], Html(pages::form(&key))).into_response()
}

async fn claim(State(stock): State<Arc<Stock>>, body: Bytes) -> Response {
    let key = form::field(&body, "key").filter(|key| is_key(key));
    let name = form::field(&body, "name").map(|n| n.trim().to_owned()).filter(|n| !n.is_empty());
    let (Some(key), Some(name)) = (key, name) else {
        let page = pages::sorry("Something is missing", "Please open the form again and fill in a name.");
        return (StatusCode::BAD_REQUEST, Html(page)).into_response();
    };
    match stock.claim(&key, &name) {
        Some(_) => Redirect::to(&format!("/buy/orders/{key}")).into_response(),
        None => sold_out(),
    }
}

async fn order(State(stock): State<Arc<Stock>>, Path(key): Path<String>) -> Response {
    let order = if is_key(&key) { stock.orders().get(&key).cloned() } else { None };
    match order {
        Some(order) => ([(CACHE_CONTROL, "no-store")], Html(pages::order(&key, &order))).into_response(),
        None => not_found(),
    }
}

fn is_key(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn sold_out() -> Response {
    let page = pages::sorry("Sold out", "Every ticket has found its owner.");
    (StatusCode::CONFLICT, [(CACHE_CONTROL, "no-store")], Html(page)).into_response()
}

fn not_found() -> Response {
    let page = pages::sorry("Not found", "There is nothing at this address.");
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_sold_once_and_never_more_than_there_are() {
        let stock = Stock { tickets: 2, orders: Mutex::default() };
        let first = stock.claim("a", "Ann").unwrap();
        assert_eq!(stock.claim("a", "Bob"), Some(first), "the same form again is the same order");
        assert_eq!(stock.claim("b", "Bob").unwrap().ticket, 2);
        assert_eq!(stock.claim("c", "Cid"), None);
        assert_eq!(stock.remaining(), 0);
    }

    #[test]
    fn keys_are_32_hexadecimal_digits() {
        assert!(is_key(&"0aF9".repeat(8)));
        assert!(!is_key("../../etc/passwd") && !is_key("") && !is_key(&"g".repeat(32)));
    }
}
