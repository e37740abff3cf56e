//! A process with the embedded store that is killed while it hands out numbers: what it acknowledged is there.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::stage::{number, rules};
use crate::queue::embedded::EmbeddedStore;
use crate::queue::{Durability, InstanceId, JoinBatch, Place, QueueStore, Seen, Settings, StoreError};
use crate::room::{IdentityHash, Lineage, RoomId};

const DIR: &str = "ROPELINE_TEST_KILLED_DIR";

fn open(dir: &std::path::Path) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(&Settings {
        place: Place::File(dir.to_owned()),
        timeout: Duration::from_secs(20),
        durability: Durability::Disk,
        accept_loss: false,
        ca_file: None,
    })
}

fn identity(n: u64) -> Option<IdentityHash> {
    Some(IdentityHash(u128::from(n).to_be_bytes()))
}

fn batch(instance: u64, sequence: u64, entries: Vec<Option<IdentityHash>>) -> JoinBatch {
    JoinBatch { instance: InstanceId(instance), sequence, entries }
}

/// Joins one identity after another and says so after each acknowledgement, until it is killed.
#[tokio::test]
#[ignore = "a part of the next test, which starts it as a process of its own"]
async fn the_process_that_is_killed() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let (store, room) = (open(dir.as_ref()).unwrap(), RoomId::new("hall").unwrap());
    store.create(&room, &rules("1/h"), Lineage(7)).await.unwrap();
    for n in 1.. {
        let joined = store.join(&room, Seen::default(), &batch(1, n, vec![identity(n)])).await.unwrap();
        println!("\nplaced {}", number(&joined.outcomes[0]).0);
    }
}

#[tokio::test]
async fn what_a_killed_process_acknowledged_is_there_and_no_number_comes_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "queue::conformance::killed::the_process_that_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .env(DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut placed = 0;
    for line in lines {
        let Some(n) = line.unwrap().strip_prefix("placed ").map(|n| n.parse().unwrap()) else { continue };
        placed = n;
        if placed == 30 {
            let in_use = open(dir.path()).err().unwrap().to_string();
            assert!(in_use.contains("another process"), "{in_use}");
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(placed >= 30, "{placed}");

    let (store, room) = (open(dir.path()).unwrap(), RoomId::new("hall").unwrap());
    let again: Vec<_> = (1..=placed).map(identity).collect();
    let joined = store.join(&room, Seen::default(), &batch(2, 1, again)).await.unwrap();
    let numbers: Vec<_> = joined.outcomes.iter().map(number).collect();
    assert_eq!(numbers, (1..=placed).map(|n| (n, false)).collect::<Vec<_>>());
    let next = store.join(&room, Seen::default(), &batch(2, 2, vec![None])).await.unwrap();
    assert!(number(&next.outcomes[0]).0 > placed);
}
