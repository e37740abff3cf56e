//! Reads what the scripts answer. Nothing in it is taken on trust: another shape is an error, never a panic.

use redis::Value;

use crate::queue::StoreError;
use crate::queue::presence::{Bits, Shown};
use crate::room::{
    Admission, Draw, DrawStage, Evidence, Forced, JoinOutcome, Lineage, Micros, Number, Overrides, Rules,
    Seed, Snapshot, Standing, Stock, Voids,
};

const WAITING: i64 = 0;
const LAPSED: i64 = -1;
const LEFT: i64 = -2;
const UNKNOWN: i64 = -3;

const RECOVERING: &str = "the store may have lost its last writes, and what was lost is being put right; try again in a few seconds";

/// What a script says before anything else.
pub(super) enum Answer {
    /// Done; the parts after the word.
    Done(Parts),
    /// The epoch began on another server, whose id this is.
    OtherOwner(String),
    /// Writes that the caller has seen are not there; the id of the server that the epoch began on.
    Behind(String),
    /// The settings have changed since they were read.
    Stale,
    /// The draw is due, and needs the numbers of these places first.
    DrawDue(Parts),
    /// The same again, please, with the numbers of these places.
    Unmapped(Parts),
}

/// The parts of an answer, taken in order.
pub(super) struct Parts(std::vec::IntoIter<Value>);

/// A snapshot with what comes along, and the version of the settings that it was made with.
pub(super) struct Read {
    pub(super) seen: Evidence,
    pub(super) settings: u64,
}

/// Sorts an answer by its first word.
pub(super) fn sort(value: Value) -> Result<Answer, StoreError> {
    let mut parts = Parts::of(value)?;
    match parts.text()?.as_str() {
        "OK" => Ok(Answer::Done(parts)),
        "OWNER" => Ok(Answer::OtherOwner(parts.text()?)),
        "STALE" => Ok(Answer::Stale),
        "DRAW" => Ok(Answer::DrawDue(parts)),
        "MAP" => Ok(Answer::Unmapped(parts)),
        "NOROOM" => Err(StoreError::NoRoom),
        "ROLLBACK" => Ok(Answer::Behind(parts.text()?)),
        "WAIT" => Err(StoreError::Refused(RECOVERING.to_owned())),
        "LEASE" => Err(StoreError::Refused(
            "more joins than numbers that are safely on disk; try again in a few seconds".to_owned(),
        )),
        other => Err(garbled(&format!("the word {other:?}"))),
    }
}

impl Parts {
    fn of(value: Value) -> Result<Self, StoreError> {
        match value {
            Value::Array(values) => Ok(Self(values.into_iter())),
            _ => Err(garbled("no list")),
        }
    }

    fn next(&mut self) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| garbled("a part is missing"))
    }

    fn text(&mut self) -> Result<String, StoreError> {
        match self.next()? {
            Value::BulkString(bytes) => String::from_utf8(bytes).map_err(|_| garbled("no text")),
            Value::SimpleString(text) => Ok(text),
            _ => Err(garbled("no text")),
        }
    }

    fn signed(&mut self) -> Result<i64, StoreError> {
        match self.next()? {
            Value::Int(n) => Ok(n),
            _ => Err(garbled("no number")),
        }
    }

    fn number(&mut self) -> Result<u64, StoreError> {
        u64::try_from(self.signed()?).map_err(|_| garbled("a number below 0"))
    }

    fn list(&mut self) -> Result<Self, StoreError> {
        Self::of(self.next()?)
    }

    /// The snapshot, in the order of `snapshot()` in `rules.lua`.
    pub(super) fn snapshot(&mut self) -> Result<Read, StoreError> {
        let mut p = self.list()?;
        let lineage = Lineage(p.text()?.parse().map_err(|_| garbled("a lineage"))?);
        let (epoch, version, now) = (p.number()?, p.number()?, Micros(p.number()?));
        let (paused, reason) = (paused(&p.text()?)?, p.text()?);
        let mut place = || p.number().map(Number);
        let (last, called, due, frontier, lapsed) = (place()?, place()?, place()?, place()?, place()?);
        let (reach, slots_to) = (p.number()?, Micros(p.number()?));
        let (admitted, granted) = (p.number()?, p.number()?);
        let (active, departed, ended_to) = (p.number()?, p.number()?, p.number()?);
        let (revoked_before, stock) = (Micros(p.number()?), p.stock()?);
        let file: Rules = json(&p.text()?)?;
        let overrides: Overrides = json(&p.text()?)?;
        let rules = overrides.over(&file);
        let settings = p.number()?;
        let forced = forced(&p.text()?)?;
        let draw = p.draw()?;
        let (voids, lost) = (ranges(&p.text()?)?, ranges(&p.text()?)?);
        let keys = p.text()?;
        let (last_may_be, admitted_may_be) = (Number(p.number()?), p.number()?);
        let admitted_may_be = if rules.max_total.is_some() { admitted_may_be } else { admitted };
        let phase = rules.schedule.phase(forced, paused, draw.stage, now);
        let snapshot = Snapshot {
            lineage,
            epoch,
            version,
            now,
            phase,
            reason: reason.strip_prefix('=').map(str::to_owned),
            forced,
            draw,
            last,
            called,
            due,
            frontier,
            lapsed,
            voids,
            lost,
            reach,
            slots_to,
            admitted,
            granted,
            active,
            departed,
            ended_to,
            revoked_before,
            stock: stock.filter(|_| rules.stock.is_some()),
            rules,
            overrides,
            rules_written: file,
            keys,
        };
        let seen = Evidence { snapshot, paused, last: last_may_be, admitted: admitted_may_be };
        Ok(Read { seen, settings })
    }

    /// A version of who is there, with its bitmaps if the caller had another.
    pub(super) fn shown(&mut self) -> Result<Shown, StoreError> {
        let (version, frontier, last) = (self.number()?, Number(self.number()?), Number(self.number()?));
        let (use_from, now) = (Micros(self.number()?), Micros(self.number()?));
        let bits = if self.0.len() == 0 {
            None
        } else {
            let base = self.number()?;
            let mut map = || self.bytes().map(|bytes| Bits { base, bytes });
            Some((map()?, map()?))
        };
        Ok(Shown { version, frontier, last, use_from, bits, now })
    }

    fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.next()? {
            Value::BulkString(bytes) => Ok(bytes),
            _ => Err(garbled("no bytes")),
        }
    }

    fn draw(&mut self) -> Result<Draw, StoreError> {
        let stage = match self.number()? {
            0 => DrawStage::None,
            1 => DrawStage::Lobby,
            2 => DrawStage::Frozen,
            3 => DrawStage::Drawn,
            _ => return Err(garbled("a stage of the draw")),
        };
        let (base, size) = (Number(self.number()?), self.number()?);
        let at = Micros(self.number()?);
        let (seed, value) = (self.text()?, self.text()?);
        let seed = (!seed.is_empty()).then(|| Seed::parse(&seed)).transpose();
        let seed = seed.map_err(|_| garbled("a seed"))?;
        Ok(Draw { stage, base, size, at, seed, value: Some(value).filter(|value| !value.is_empty()) })
    }

    /// Numbers as text.
    pub(super) fn places(&mut self) -> Result<Vec<Number>, StoreError> {
        let mut list = self.list()?;
        let count = list.0.len();
        let place = |_| list.text()?.parse().map(Number).map_err(|_| garbled("a place"));
        (0..count).map(place).collect()
    }

    fn stock(&mut self) -> Result<Option<Stock>, StoreError> {
        let known = self.number()? != 0;
        let (first, remaining) = (self.number()?, self.number()?);
        let stock = Stock { first, remaining, read_at: Micros(self.number()?) };
        Ok(known.then_some(stock))
    }

    /// One standing per number that was asked for.
    pub(super) fn standings(&mut self, asked: &[Number]) -> Result<Vec<Standing>, StoreError> {
        let mut codes = self.list()?;
        asked.iter().map(|number| codes.standing(*number)).collect()
    }

    /// The acknowledged expiries of `count` stays.
    pub(super) fn expiries(&mut self, count: usize) -> Result<Vec<Option<Micros>>, StoreError> {
        let mut list = self.list()?;
        (0..count).map(|_| list.number().map(|until| (until > 0).then_some(Micros(until)))).collect()
    }

    /// A piece of the end log, and the sequence of its last entry.
    pub(super) fn log(&mut self) -> Result<(Vec<Number>, u64), StoreError> {
        let mut list = self.list()?;
        let count = list.0.len();
        let ended = (0..count).map(|_| list.number().map(Number)).collect::<Result<_, _>>()?;
        Ok((ended, self.number()?))
    }

    /// Pairs of index, from 1, and place: who has another place than was asked for.
    pub(super) fn moved(&mut self, asked: impl Iterator<Item = Number>) -> Result<Vec<Number>, StoreError> {
        let mut places: Vec<Number> = asked.collect();
        let mut list = self.list()?;
        while list.0.len() > 0 {
            let index = usize::try_from(list.number()?).unwrap_or(0).wrapping_sub(1);
            let place = Number(list.number()?);
            *places.get_mut(index).ok_or_else(|| garbled("a place of nobody"))? = place;
        }
        Ok(places)
    }

    /// A code, and what follows it for the admitted.
    fn standing(&mut self, number: Number) -> Result<Standing, StoreError> {
        match self.signed()? {
            WAITING => Ok(Standing::Waiting),
            LAPSED => Ok(Standing::Lapsed),
            LEFT => Ok(Standing::Left),
            UNKNOWN => Ok(Standing::Unknown),
            code => {
                let slot = Micros(u64::try_from(code).map_err(|_| garbled("a standing"))?);
                Ok(Standing::Admitted(Admission { number, slot, until: Micros(self.number()?) }))
            }
        }
    }

    /// The outcomes of a batch: runs of numbers, then the standing of those who do not wait.
    pub(super) fn outcomes(&mut self, entries: usize, draw: &Draw) -> Result<Vec<JoinOutcome>, StoreError> {
        let mut outcomes = runs(&self.text()?, entries)?;
        if outcomes.len() != entries {
            return Err(garbled("another count of outcomes"));
        }
        let mut exceptions = self.list()?;
        while exceptions.0.len() > 0 {
            let index = usize::try_from(exceptions.number()?).unwrap_or(0).wrapping_sub(1);
            match outcomes.get_mut(index) {
                Some(JoinOutcome::Placed { number, standing, .. }) => {
                    *standing = exceptions.standing(draw.number_of(*number))?
                }
                _ => return Err(garbled("a standing of nobody")),
            }
        }
        Ok(outcomes)
    }
}

/// `+5*3` new 5, 6, 7; `=9` known; `-2` two found the line full, `!2` the doors not open, `x2` the room closed.
fn runs(text: &str, entries: usize) -> Result<Vec<JoinOutcome>, StoreError> {
    let bad = || garbled("a run of numbers");
    let mut outcomes = Vec::with_capacity(entries);
    for run in text.split_ascii_whitespace() {
        let rest = run.get(1..).ok_or_else(bad)?;
        let (first, count) = rest.split_once('*').unwrap_or((rest, "1"));
        let first: u64 = first.parse().map_err(|_| bad())?;
        let count: u64 = count.parse().map_err(|_| bad())?;
        let placed =
            |number, new| JoinOutcome::Placed { number: Number(number), new, standing: Standing::Waiting };
        let room = (entries - outcomes.len().min(entries)) as u64;
        match run.as_bytes().first() {
            Some(b'+') if count <= room => {
                outcomes.extend((first..first.saturating_add(count)).map(|n| placed(n, true)))
            }
            Some(b'=') => outcomes.push(placed(first, false)),
            Some(word) if first <= room => {
                let refused = refused(*word).ok_or_else(bad)?;
                outcomes.extend((0..first).map(|_| refused));
            }
            _ => return Err(bad()),
        }
    }
    Ok(outcomes)
}

fn refused(word: u8) -> Option<JoinOutcome> {
    match word {
        b'-' => Some(JoinOutcome::Full),
        b'!' => Some(JoinOutcome::NotOpen),
        b'x' => Some(JoinOutcome::Closed),
        _ => None,
    }
}

/// `from:to from:to`: numbers after the first up to the second.
fn ranges(text: &str) -> Result<Voids, StoreError> {
    let range = |text: &str| {
        let (from, to) = text.split_once(':')?;
        Some((Number(from.parse().ok()?), Number(to.parse().ok()?)))
    };
    let all = text.split_ascii_whitespace().map(|text| range(text).ok_or_else(|| garbled("a range")));
    Ok(Voids::of(all.collect::<Result<_, _>>()?))
}

fn paused(text: &str) -> Result<bool, StoreError> {
    match text {
        "open" => Ok(false),
        "paused" => Ok(true),
        _ => Err(garbled("a phase")),
    }
}

fn forced(text: &str) -> Result<Option<Forced>, StoreError> {
    match text {
        "" => Ok(None),
        "open" => Ok(Some(Forced::Open)),
        "closed" => Ok(Some(Forced::Closed)),
        _ => Err(garbled("what an operator forced")),
    }
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| garbled("settings of another version"))
}

fn garbled(what: &str) -> StoreError {
    StoreError::Garbled(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<(u64, bool)> {
        let number = |o: &JoinOutcome| match o {
            JoinOutcome::Placed { number, new, .. } => (number.0, *new),
            JoinOutcome::Full => (0, false),
            JoinOutcome::NotOpen => (0, true),
            JoinOutcome::Closed => (1, true),
        };
        runs(text, 6).unwrap().iter().map(number).collect()
    }

    #[test]
    fn runs_become_numbers() {
        assert_eq!(
            numbers("+5*3 =9 -2"),
            [(5, true), (6, true), (7, true), (9, false), (0, false), (0, false)]
        );
        assert_eq!(numbers("!1 x2"), [(0, true), (1, true), (1, true)]);
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_panic() {
        for text in ["+", "y1", "x", "!99", "+1*9999999999999", "-99", "=", "é", "+1*"] {
            assert!(runs(text, 6).is_err(), "{text}");
        }
        for value in [Value::Nil, Value::Array(vec![]), Value::Array(vec![Value::Int(1)])] {
            assert!(sort(value).is_err());
        }
    }
}
