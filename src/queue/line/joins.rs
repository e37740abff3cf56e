//! Joins become batches: what arrives within a few milliseconds shares one store call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::LineSettings;
use super::view::Known;
use crate::queue::{JoinBatch, QueueStore, StoreError};
use crate::room::{IdentityHash, JoinOutcome};

/// How long the first join of a batch waits for others.
const WINDOW: Duration = Duration::from_millis(3);

/// Batches under way at once. Two keep the store busy while answers travel; more would only let batches of
/// one instance overtake each other.
const IN_FLIGHT: usize = 2;

/// One visitor who wants a place.
pub(super) struct JoinRequest {
    pub(super) identity: Option<IdentityHash>,
    pub(super) reply: oneshot::Sender<Result<JoinOutcome, StoreError>>,
}

pub(super) async fn run(
    settings: LineSettings,
    store: Arc<dyn QueueStore>,
    known: Arc<Known>,
    mut requests: mpsc::Receiver<JoinRequest>,
) {
    let sequence = AtomicU64::new(0);
    let permits = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut calls = JoinSet::new();
    let mut batch = Vec::with_capacity(JoinBatch::MAX);
    while requests.recv_many(&mut batch, JoinBatch::MAX).await > 0 {
        fill(&mut requests, &mut batch).await;
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        fill_at_once(&mut requests, &mut batch);
        let batch = std::mem::replace(&mut batch, Vec::with_capacity(JoinBatch::MAX));
        let sequence = sequence.fetch_add(1, Ordering::Relaxed) + 1;
        let (settings, store, known) = (settings.clone(), Arc::clone(&store), Arc::clone(&known));
        calls.spawn(async move {
            let _permit = permit;
            call(&settings, &*store, &known, sequence, batch).await;
        });
        while calls.try_join_next().is_some() {}
    }
}

/// Waits out the window, or until the batch is full.
async fn fill(requests: &mut mpsc::Receiver<JoinRequest>, batch: &mut Vec<JoinRequest>) {
    let end = Instant::now() + WINDOW;
    while batch.len() < JoinBatch::MAX {
        let room = JoinBatch::MAX - batch.len();
        match tokio::time::timeout_at(end, requests.recv_many(batch, room)).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// Takes what has come while the batch waited for its permit.
fn fill_at_once(requests: &mut mpsc::Receiver<JoinRequest>, batch: &mut Vec<JoinRequest>) {
    while batch.len() < JoinBatch::MAX {
        let Ok(request) = requests.try_recv() else { return };
        batch.push(request);
    }
}

async fn call(
    settings: &LineSettings,
    store: &dyn QueueStore,
    known: &Known,
    sequence: u64,
    mut requests: Vec<JoinRequest>,
) {
    // Who has gone away since needs no place.
    requests.retain(|request| !request.reply.is_closed());
    if requests.is_empty() {
        return;
    }
    let entries = requests.iter().map(|request| request.identity).collect();
    let batch = JoinBatch { instance: settings.instance, sequence, entries };
    match join(settings, store, known, &batch).await {
        Ok(joined) => {
            known.learn(joined.snapshot);
            for (request, outcome) in requests.into_iter().zip(joined.outcomes) {
                let _gone = request.reply.send(Ok(outcome));
            }
        }
        Err(error) => {
            known.failed(&error);
            for request in requests {
                let _gone = request.reply.send(Err(error.clone()));
            }
        }
    }
}

/// Asks twice if the connection broke at once: the sequence makes the repeat harmless. A timeout is not
/// waited for twice, since a visitor is there.
async fn join(
    settings: &LineSettings,
    store: &dyn QueueStore,
    known: &Known,
    batch: &JoinBatch,
) -> Result<crate::room::Joined, StoreError> {
    let begun = Instant::now();
    let first = store.join(&settings.room, known.seen(), batch).await;
    if matches!(first, Err(StoreError::Unreachable(_))) && begun.elapsed() < settings.timeout / 4 {
        tokio::time::sleep(settings.timeout / 8).await;
        return store.join(&settings.room, known.seen(), batch).await;
    }
    first
}
