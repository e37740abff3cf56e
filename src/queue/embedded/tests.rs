//! A disk that fails, and a file that is in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::EmbeddedStore;
use super::writer::Opener;
use crate::queue::{
    Durability, InstanceId, JoinBatch, Place, QueueStore, Seen, Settings, StoreError, system_clock,
};
use crate::room::{JoinOutcome, Lineage, Number, RoomId, Rules};

/// A file on a disk that can be told to be full.
#[derive(Debug)]
struct Disk {
    file: FileBackend,
    full: Arc<AtomicBool>,
}

impl Disk {
    fn fails(&self) -> std::io::Result<()> {
        let full = self.full.load(Ordering::SeqCst);
        if full { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> std::io::Result<u64> {
        self.file.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.file.read(offset, out)
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.fails().and_then(|()| self.file.set_len(len))
    }
    fn sync_data(&self) -> std::io::Result<()> {
        self.fails().and_then(|()| self.file.sync_data())
    }
    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.fails().and_then(|()| self.file.write(offset, data))
    }
    fn close(&self) -> std::io::Result<()> {
        self.file.close()
    }
}

fn opener(path: std::path::PathBuf, full: Arc<AtomicBool>) -> Opener {
    Box::new(move || {
        let refused = |error: String| StoreError::Refused(error);
        let file =
            std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|error| refused(error.to_string()))?;
        let file = FileBackend::new(file).map_err(|error| refused(error.to_string()))?;
        let disk = Disk { file, full: Arc::clone(&full) };
        redb::Builder::new().create_with_backend(disk).map_err(|error| refused(error.to_string()))
    })
}

async fn join(store: &EmbeddedStore, sequence: u64) -> Result<u64, StoreError> {
    let batch = JoinBatch { instance: InstanceId(1), sequence, entries: vec![None] };
    let joined = store.join(&RoomId::new("hall").unwrap(), Seen::default(), &batch).await?;
    match joined.outcomes[0] {
        JoinOutcome::Placed { number, .. } => Ok(number.0),
        other => panic!("no place: {other:?}"),
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_nothing_runs_ahead_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let full = Arc::new(AtomicBool::new(false));
    let open = opener(dir.path().join("line.redb"), Arc::clone(&full));
    let store = EmbeddedStore::on(open, system_clock(), Duration::from_secs(20)).unwrap();
    let room = RoomId::new("hall").unwrap();
    store.create(&room, &Rules::at("1/h".parse().unwrap()), Lineage(7)).await.unwrap();
    assert_eq!(join(&store, 1).await, Ok(1));

    full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        assert!(matches!(join(&store, 2).await, Err(StoreError::Refused(_))));
    }
    full.store(false, Ordering::SeqCst);
    let number = loop {
        match join(&store, 2).await {
            Ok(number) => break number,
            Err(StoreError::Refused(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(number, 2, "the refused join took no number");
    assert_eq!(join(&store, 1).await, Ok(1), "what was acknowledged before is still remembered");
}

#[tokio::test]
async fn a_directory_in_use_is_said_in_one_line_and_free_after_a_close() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        place: Place::File(dir.path().join("new")),
        timeout: Duration::from_secs(20),
        durability: Durability::Disk,
        accept_loss: false,
        ca_file: None,
    };
    let store = EmbeddedStore::open(&settings).unwrap();
    let error = EmbeddedStore::open(&settings).err().unwrap().to_string();
    assert!(error.contains("another process") && !error.contains('\n'), "{error}");
    store.close().await;
    let after = store.advance(&RoomId::new("hall").unwrap(), Seen::default(), &[Number(1)]).await;
    assert!(matches!(after, Err(StoreError::Unreachable(_))));
    EmbeddedStore::open(&settings).unwrap();
}
