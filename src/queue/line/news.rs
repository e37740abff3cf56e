//! Says when something has changed for everybody in a room, so that those who are told by stream hear of it at
//! once. One look a tick for all of them: freshness ends without any call that could say so.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::view::{Known, View};
use crate::room::{Lineage, Overrides, Phase};

const TICK: Duration = Duration::from_millis(250);

/// What everybody would notice.
#[derive(PartialEq)]
struct News {
    fresh: bool,
    life: Option<Lineage>,
    phase: Option<Phase>,
    reason: Option<String>,
    overrides: Option<Overrides>,
}

impl News {
    fn of(view: &View) -> Self {
        let snapshot = view.snapshot.as_deref();
        Self {
            fresh: view.fresh,
            life: snapshot.map(|s| s.lineage),
            phase: snapshot.map(|s| s.phase),
            reason: snapshot.and_then(|s| s.reason.clone()),
            overrides: snapshot.map(|s| s.overrides.clone()),
        }
    }
}

pub(super) async fn run(known: Arc<Known>, told: watch::Sender<u64>) {
    let mut last = News::of(&known.view());
    loop {
        tokio::time::sleep(TICK).await;
        let now = News::of(&known.view());
        if now != last {
            told.send_modify(|count| *count += 1);
            last = now;
        }
    }
}
