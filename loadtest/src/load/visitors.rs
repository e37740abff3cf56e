//! Visitors who are there before the measurement begins: some who wait far from the front, some with a pass.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;

use super::client::{Ask, Client, Said};
use crate::fault::{Result, fault};
use crate::peers::ropeline::room_path;

/// Joins at once.
const AT_ONCE: usize = 200;

/// A visitor's place.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) ticket: String,
}

/// Lets `count` visitors join; in the order of their numbers.
pub(crate) async fn join(client: &Client, edge: SocketAddr, count: usize) -> Result<Vec<Waiting>> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let mut joins = JoinSet::new();
        for _ in 0..AT_ONCE.min(count - all.len()) {
            let client = client.clone();
            joins.spawn(async move { joined(&client, edge).await });
        }
        while let Some(said) = joins.join_next().await {
            let document = said??.json();
            let number = document["visitor"]["number"].as_u64();
            let (Some(number), Some(ticket)) = (number, document["ticket"].as_str()) else {
                return fault(format!("joining brought no ticket: {document}"));
            };
            all.push(Waiting { number, ticket: ticket.to_owned() });
        }
    }
    all.sort_by_key(|visitor| visitor.number);
    Ok(all)
}

/// One join; again if the connection was closed under it, which costs a place that nobody holds.
async fn joined(client: &Client, edge: SocketAddr) -> Result<Said> {
    for _ in 0..3 {
        if let Ok(said) = client.send(Ask::post(edge, &room_path("/tickets"))).await {
            return Ok(said);
        }
    }
    client.send(Ask::post(edge, &room_path("/tickets"))).await
}

/// Lets `count` visitors join and go in; their passes.
pub(crate) async fn admitted(client: &Client, edge: SocketAddr, count: usize) -> Result<Vec<String>> {
    let mut passes = Vec::with_capacity(count);
    for visitor in join(client, edge, count).await? {
        passes.push(pass_of(client, edge, &visitor).await?);
    }
    Ok(passes)
}

async fn pass_of(client: &Client, edge: SocketAddr, visitor: &Waiting) -> Result<String> {
    for _ in 0..200 {
        let poll = Ask::get(edge, &room_path("/position"));
        let said = client.send(poll.header("authorization", format!("Bearer {}", visitor.ticket))).await?;
        if let Some(pass) = said.json()["pass"]["token"].as_str() {
            return Ok(pass.to_owned());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fault(format!("visitor {} is not let in", visitor.number))
}
