//! Coalescing: of all who need the same from the origin at once, one leads, the others follow.
//!
//! A flight is a question that is under way. Its leader is a task that no reader owns, so none can cancel it; a
//! leader that ends in any way, by panic or shutdown too, lands its flight, so nobody waits for one that is gone.
//! Followers all wake together with the same outcome; they never queue up behind one another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry as Slot;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout_at};

use super::policy::Outcome;
use super::{Key, Settings};

/// All questions under way, at most one for a key.
#[derive(Debug)]
pub(super) struct Flights {
    by_key: DashMap<Key, Arc<Flight>>,
    free: Arc<Semaphore>,
    waiters_max: usize,
}

#[derive(Debug)]
struct Flight {
    /// `None` until it lands; `Some(None)` when its leader went without a word.
    outcome: watch::Sender<Option<Option<Outcome>>>,
    waiting: AtomicUsize,
    since: Instant,
}

/// A place on a flight.
pub(super) enum Boarded {
    /// The caller makes the flight; the waiter is its own place.
    Lead(Leader, Option<Waiter>),
    /// Another does.
    Follow(Waiter),
    /// Too many flights, or too many waiters on this one.
    Full,
}

impl Flights {
    /// None under way, with the bounds of `settings`.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            by_key: DashMap::new(),
            free: Arc::new(Semaphore::new(settings.fetches_max.min(Semaphore::MAX_PERMITS))),
            waiters_max: settings.waiters_max,
        }
    }

    /// Boards the flight of `key`, and makes it if there is none.
    pub(super) fn board(self: &Arc<Self>, key: &Key) -> Boarded {
        match self.by_key.entry(key.clone()) {
            Slot::Occupied(slot) => match Waiter::of(slot.get(), self.waiters_max) {
                Some(waiter) => Boarded::Follow(waiter),
                None => Boarded::Full,
            },
            Slot::Vacant(slot) => {
                let Ok(permit) = self.free.clone().try_acquire_owned() else { return Boarded::Full };
                let flight = Arc::new(Flight::new());
                slot.insert(flight.clone());
                let waiter = Waiter::of(&flight, self.waiters_max);
                let leader = Leader {
                    flights: self.clone(),
                    key: key.clone(),
                    flight,
                    outcome: None,
                    _permit: permit,
                };
                Boarded::Lead(leader, waiter)
            }
        }
    }

    /// The leadership of a new flight of `key`, if there is none and it may be made. For refreshing behind the
    /// back of readers.
    pub(super) fn lead(self: &Arc<Self>, key: &Key) -> Option<Leader> {
        if self.by_key.contains_key(key) {
            return None;
        }
        match self.board(key) {
            Boarded::Lead(leader, _) => Some(leader),
            Boarded::Follow(_) | Boarded::Full => None,
        }
    }

    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}

impl Flight {
    fn new() -> Self {
        Self { outcome: watch::Sender::new(None), waiting: AtomicUsize::new(0), since: Instant::now() }
    }
}

/// The duty to land a flight; dropping it does.
pub(super) struct Leader {
    flights: Arc<Flights>,
    key: Key,
    flight: Arc<Flight>,
    outcome: Option<Outcome>,
    _permit: OwnedSemaphorePermit,
}

impl Leader {
    /// What the flight is for.
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// Tells all who wait. What is to be remembered must have been stored before, so that whoever finds no
    /// flight finds the record.
    pub(super) fn land(mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.flights.by_key.remove_if(&self.key, |_, flight| Arc::ptr_eq(flight, &self.flight));
        self.flight.outcome.send_replace(Some(self.outcome.take()));
    }
}

/// A place on a flight; dropping it gives it up.
pub(super) struct Waiter {
    flight: Arc<Flight>,
}

impl Waiter {
    fn of(flight: &Arc<Flight>, most: usize) -> Option<Self> {
        let took = flight.waiting.fetch_add(1, Ordering::Relaxed);
        let waiter = Self { flight: flight.clone() };
        (took < most).then_some(waiter)
    }

    /// The outcome; `None` when it did not come within `wait_max` of the flight's begin, or will never come.
    pub(super) async fn wait(self, wait_max: Duration) -> Option<Outcome> {
        let mut outcome = self.flight.outcome.subscribe();
        let until = self.flight.since + wait_max;
        let landed = timeout_at(until, outcome.wait_for(Option::is_some)).await;
        landed.ok()?.ok()?.clone()?
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.flight.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Refusal, Scheme};
    use super::*;

    fn flights(fetches_max: usize, waiters_max: usize) -> Arc<Flights> {
        Arc::new(Flights::new(&Settings { fetches_max, waiters_max, ..Settings::default() }))
    }

    fn key(target: &str) -> Key {
        Key::new(Scheme::Http, "a", target)
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn all_who_wait_get_the_outcome_and_the_key_is_free_again() {
        let flights = flights(1, 10);
        let Boarded::Lead(leader, Some(own)) = flights.board(&key("/")) else { panic!() };
        let Boarded::Follow(other) = flights.board(&key("/")) else { panic!() };
        leader.land(Outcome::Forward(Refusal::Vary));
        assert_eq!(own.wait(LONG).await, Some(Outcome::Forward(Refusal::Vary)));
        assert_eq!(other.wait(LONG).await, Some(Outcome::Forward(Refusal::Vary)));
        assert_eq!(flights.len(), 0);
        assert!(flights.lead(&key("/")).is_some());
    }

    #[tokio::test]
    async fn a_leader_that_goes_without_a_word_leaves_nobody_waiting() {
        let flights = flights(1, 10);
        let Boarded::Lead(leader, Some(waiter)) = flights.board(&key("/")) else { panic!() };
        drop(leader);
        assert_eq!(waiter.wait(LONG).await, None);
        assert_eq!(flights.len(), 0);
    }

    #[tokio::test]
    async fn flights_and_waiters_are_bounded() {
        let flights = flights(1, 2);
        let Boarded::Lead(leader, Some(_own)) = flights.board(&key("/")) else { panic!() };
        assert!(matches!(flights.board(&key("/other")), Boarded::Full));
        let Boarded::Follow(second) = flights.board(&key("/")) else { panic!() };
        assert!(matches!(flights.board(&key("/")), Boarded::Full));
        drop(second);
        assert!(matches!(flights.board(&key("/")), Boarded::Follow(_)), "a place that was given up is free");
        assert!(flights.lead(&key("/")).is_none());
        drop(leader);
        assert!(matches!(flights.board(&key("/other")), Boarded::Lead(..)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_late_to_a_hung_flight_waits_no_longer_than_the_first() {
        let flights = flights(1, 10);
        let began = Instant::now();
        let Boarded::Lead(_leader, Some(first)) = flights.board(&key("/")) else { panic!() };
        assert_eq!(first.wait(Duration::from_secs(5)).await, None);
        assert_eq!(began.elapsed().as_secs(), 5);
        let Boarded::Follow(late) = flights.board(&key("/")) else { panic!() };
        assert_eq!(late.wait(Duration::from_secs(5)).await, None);
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
