//! What is on the disk, and how it gets there and back: redb, with keys that grow, so that a commit touches
//! few pages.
//!
//! Only what the room cannot do without is kept: its numbers, admissions, places given up, identities. Who
//! was checked in or granted at a crash checks in again. Identities are rows by number; the map from
//! identity to number is rebuilt at the start, where the later row of one identity wins.

use std::collections::HashMap;
use std::path::Path;

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use crate::queue::StoreError;
use crate::queue::presence::Kept;
use crate::room::{Changes, Core, IdentityHash, Micros, Number, Room, RoomId, Saved};

/// The layout of these tables; a file with another one is not touched.
const FORMAT: u64 = 2;

const META: TableDefinition<&str, u64> = TableDefinition::new("meta");
/// Room name -> the short key of its rows elsewhere.
const ROOMS: TableDefinition<&str, u32> = TableDefinition::new("rooms");
const CORE: TableDefinition<u32, &[u8]> = TableDefinition::new("core");
const ADMISSIONS: TableDefinition<(u32, u64), u64> = TableDefinition::new("admissions");
const LEFT: TableDefinition<(u32, u64), ()> = TableDefinition::new("left");
/// Acknowledged expiries of stays that live.
const STAYS: TableDefinition<(u32, u64), u64> = TableDefinition::new("stays");
/// Admissions that were ended on purpose.
const GONE: TableDefinition<(u32, u64), ()> = TableDefinition::new("gone");
/// The end log by sequence: the number, and until when it is kept.
const LOG: TableDefinition<(u32, u64), (u64, u64)> = TableDefinition::new("log");
/// Who is shown in line.
const PRESENCE: TableDefinition<u32, &[u8]> = TableDefinition::new("presence");
const IDENTITIES: TableDefinition<(u32, u64), [u8; 16]> = TableDefinition::new("identities");

/// The open file, and the keys of the rooms in it.
pub(super) struct Disk {
    database: Database,
    keys: HashMap<RoomId, u32>,
}

/// Opens the file in `dir`, which is made if it is missing.
pub(super) fn open_in(dir: &Path) -> Result<Database, StoreError> {
    let at = |what: &str| format!("{what} {}", dir.display());
    std::fs::create_dir_all(dir)
        .map_err(|error| StoreError::Refused(format!("{}: {error}", at("cannot make the directory"))))?;
    Database::create(dir.join("line.redb")).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::Refused(format!(
            "another process has {} open; stop it, or give this one a directory of its own",
            dir.display()
        )),
        other => StoreError::Refused(format!("{}: {other}", at("cannot open the line in"))),
    })
}

impl Disk {
    /// Reads everything that was written down.
    pub(super) fn load(database: Database) -> Result<Opened, StoreError> {
        prepare(&database).map_err(trouble)??;
        let (keys, rooms) = read(&database).map_err(trouble)??;
        let kept = read_presence(&database, &keys).map_err(trouble)?;
        Ok((Self { database, keys }, rooms, kept))
    }

    /// Writes the changes of some rooms in one durable commit. After an error the file has to be opened
    /// anew, and the rooms read from it: nobody knows what the commit did.
    pub(super) fn write(
        &mut self,
        changed: Vec<(RoomId, Core, Changes)>,
        there: &[(RoomId, Kept)],
    ) -> Result<(), StoreError> {
        let next = self.keys.values().max().map_or(0, |key| key + 1);
        let new = changed.iter().map(|(room, ..)| room).filter(|room| !self.keys.contains_key(*room));
        let new: Vec<(RoomId, u32)> = new.cloned().zip(next..).collect();
        self.keys.extend(new.iter().cloned());
        let transaction = self.database.begin_write().map_err(trouble)?;
        note_rooms(&transaction, &new).map_err(trouble)?;
        for (room, core, changes) in changed {
            let key = *self.keys.get(&room).ok_or_else(|| trouble("a room without a key"))?;
            let log_first = core.log_first();
            let core = serde_json::to_vec(&core).map_err(trouble)?;
            note(&transaction, key, &core, &changes).map_err(trouble)?;
            note_stays(&transaction, key, log_first, &changes).map_err(trouble)?;
        }
        for (room, kept) in there {
            if let Some(key) = self.keys.get(room) {
                note_presence(&transaction, *key, kept).map_err(trouble)?;
            }
        }
        transaction.commit().map_err(trouble)
    }
}

/// The file, and what was in it.
type Opened = (Disk, HashMap<RoomId, Room>, HashMap<RoomId, Kept>);

fn note_presence(transaction: &WriteTransaction, key: u32, kept: &Kept) -> Result<(), redb::Error> {
    transaction.open_table(PRESENCE)?.insert(key, kept.to_bytes().as_slice())?;
    Ok(())
}

/// What cannot be read is left out: then everybody counts as there.
fn read_presence(
    database: &Database,
    keys: &HashMap<RoomId, u32>,
) -> Result<HashMap<RoomId, Kept>, redb::Error> {
    let table = database.begin_read()?.open_table(PRESENCE)?;
    let mut all = HashMap::new();
    for (room, key) in keys {
        if let Some(kept) = table.get(key)?.and_then(|bytes| Kept::from_bytes(bytes.value())) {
            all.insert(room.clone(), kept);
        }
    }
    Ok(all)
}

fn trouble(error: impl std::fmt::Display) -> StoreError {
    StoreError::Refused(format!("the disk: {error}"))
}

/// Makes the tables of a new file; refuses those of another layout.
fn prepare(database: &Database) -> Result<Result<(), StoreError>, redb::Error> {
    let transaction = database.begin_write()?;
    let found = {
        let mut meta = transaction.open_table(META)?;
        let found = meta.get("format")?.map(|format| format.value());
        if found.is_none() {
            meta.insert("format", FORMAT)?;
        }
        found
    };
    if found.is_some_and(|format| format != FORMAT) {
        return Ok(Err(StoreError::Refused(
            "the line was written by another version of ropeline".to_owned(),
        )));
    }
    transaction.open_table(ROOMS)?;
    transaction.open_table(CORE)?;
    transaction.open_table(ADMISSIONS)?;
    transaction.open_table(LEFT)?;
    transaction.open_table(IDENTITIES)?;
    transaction.open_table(STAYS)?;
    transaction.open_table(GONE)?;
    transaction.open_table(LOG)?;
    transaction.open_table(PRESENCE)?;
    transaction.commit()?;
    Ok(Ok(()))
}

type Loaded = (HashMap<RoomId, u32>, HashMap<RoomId, Room>);

fn read(database: &Database) -> Result<Result<Loaded, StoreError>, redb::Error> {
    let transaction = database.begin_read()?;
    let (names, cores) = (transaction.open_table(ROOMS)?, transaction.open_table(CORE)?);
    let admissions = transaction.open_table(ADMISSIONS)?;
    let left = transaction.open_table(LEFT)?;
    let identities = transaction.open_table(IDENTITIES)?;
    let (stays, gone) = (transaction.open_table(STAYS)?, transaction.open_table(GONE)?);
    let log = transaction.open_table(LOG)?;
    let (mut keys, mut rooms) = (HashMap::new(), HashMap::new());
    for row in names.iter()? {
        let (name, key) = row?;
        let key = key.value();
        let core = cores.get(key)?.and_then(|bytes| serde_json::from_slice::<Core>(bytes.value()).ok());
        let (Some(room), Some(core)) = (RoomId::new(name.value()), core) else {
            return Ok(Err(trouble(format!("room {:?} cannot be read", name.value()))));
        };
        let mut saved = Saved::of(core);
        let all = (key, 0)..=(key, u64::MAX);
        for row in admissions.range(all.clone())? {
            let (at, slot) = row?;
            saved.admissions.push((Number(at.value().1), Micros(slot.value())));
        }
        for row in left.range(all.clone())? {
            saved.left.push(Number(row?.0.value().1));
        }
        for row in stays.range(all.clone())? {
            let (at, until) = row?;
            saved.stays.push((Number(at.value().1), Micros(until.value())));
        }
        for row in gone.range(all.clone())? {
            saved.gone.push(Number(row?.0.value().1));
        }
        for row in log.range(all.clone())? {
            let (at, entry) = row?;
            let (number, kept) = entry.value();
            saved.log.push((at.value().1, Number(number), Micros(kept)));
        }
        for row in identities.range(all)? {
            let (at, identity) = row?;
            saved.identities.push((IdentityHash(identity.value()), Number(at.value().1)));
        }
        keys.insert(room.clone(), key);
        rooms.insert(room, Room::restored(saved));
    }
    Ok(Ok((keys, rooms)))
}

fn note_rooms(transaction: &WriteTransaction, new: &[(RoomId, u32)]) -> Result<(), redb::Error> {
    let mut names = transaction.open_table(ROOMS)?;
    for (room, key) in new {
        names.insert(room.as_str(), *key)?;
    }
    Ok(())
}

fn note(transaction: &WriteTransaction, key: u32, core: &[u8], changes: &Changes) -> Result<(), redb::Error> {
    let all = (key, 0)..=(key, u64::MAX);
    transaction.open_table(CORE)?.insert(key, core)?;
    let mut admissions = transaction.open_table(ADMISSIONS)?;
    let mut left = transaction.open_table(LEFT)?;
    let mut identities = transaction.open_table(IDENTITIES)?;
    if changes.cleared {
        admissions.retain_in(all.clone(), |_, _| false)?;
        left.retain_in(all.clone(), |_, ()| false)?;
        identities.retain_in(all, |_, _| false)?;
    }
    // In this order: an admission lasts for longer than any commit, so whoever is in both lists was forgotten
    // first.
    for number in &changes.forgotten {
        admissions.remove((key, number.0))?;
    }
    for (number, slot) in &changes.admitted {
        admissions.insert((key, number.0), slot.0)?;
    }
    for place in &changes.left_undone {
        left.remove((key, place.0))?;
    }
    for number in &changes.left {
        left.insert((key, number.0), ())?;
    }
    if let Some(up_to) = changes.left_forgotten {
        left.retain_in((key, 0)..=(key, up_to.0), |_, ()| false)?;
    }
    for (identity, number) in &changes.identities {
        if changes.put_back.contains(&(*identity, *number)) {
            identities.retain_in((key, number.0)..=(key, u64::MAX), |_, other| other != identity.0)?;
        }
        identities.insert((key, number.0), identity.0)?;
    }
    Ok(())
}

fn note_stays(
    transaction: &WriteTransaction,
    key: u32,
    log_first: u64,
    changes: &Changes,
) -> Result<(), redb::Error> {
    let all = (key, 0)..=(key, u64::MAX);
    let mut stays = transaction.open_table(STAYS)?;
    let mut gone = transaction.open_table(GONE)?;
    let mut log = transaction.open_table(LOG)?;
    if changes.cleared {
        stays.retain_in(all.clone(), |_, _| false)?;
        gone.retain_in(all, |_, ()| false)?;
    }
    for number in &changes.forgotten {
        gone.remove((key, number.0))?;
    }
    for (number, until) in &changes.stays {
        match until {
            Some(until) => stays.insert((key, number.0), until.0)?,
            None => stays.remove((key, number.0))?,
        };
    }
    for number in &changes.gone {
        gone.insert((key, number.0), ())?;
    }
    for (sequence, number, kept) in &changes.log {
        log.insert((key, *sequence), (number.0, kept.0))?;
    }
    log.retain_in((key, 0)..=(key, log_first.saturating_sub(1)), |_, _| false)?;
    Ok(())
}
