//! Rules broken on purpose, so that the simulator can be seen to find each of them. Exists in tests only; every
//! place that looks here is one line under `#[cfg(test)]`.

use std::cell::Cell;

/// One way of breaking one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// R1: a new life of the store forgets the ceiling, and hands out numbers that were handed out already.
    NumberReused,
    /// R1: what instances have seen of the writes that a store lost is not taken up.
    EvidenceIgnored,
    /// R2: the largest checked-in number is granted first.
    LargestFirst,
    /// R3: time in which no slot was taken is made up for.
    TimeMadeUpFor,
    /// R4: one more admission than the cap allows.
    OneAboveTheCap,
    /// R4: one of those inside is not counted.
    OneTooManyInside,
    /// R5: an identity that joins again gets a second number.
    SecondNumber,
    /// R5: a repeated batch is done again.
    BatchDoneAgain,
    /// R5: who picked a slot up may take another one.
    SecondSlot,
    /// R6: the frontier falls back to where somebody checked in.
    FrontierFalls,
    /// R7: after an interruption nobody waits for the called to check in again.
    NoSettling,
    /// R7: after an interruption the release is at the full rate at once.
    NoRamp,
    /// R7: pick-ups go on while paused.
    PauseIgnored,
    /// R8: granted but silent visitors keep the slots from others.
    GrantsHoardSlots,
    /// R8: nobody is called ahead of need.
    CallsTooFew,
}

thread_local! {
    static BROKEN: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// Whether this thread's rooms are broken in this way.
pub(crate) fn is(mutation: Mutation) -> bool {
    BROKEN.get() == Some(mutation)
}

/// Does something with the rooms of this thread broken.
pub(crate) fn with<T>(mutation: Mutation, what: impl FnOnce() -> T) -> T {
    BROKEN.set(Some(mutation));
    let done = what();
    BROKEN.set(None);
    done
}
