//! Scenarios of those who are inside: what is acknowledged outlives the store's process.

use std::time::Duration;

use super::stage::{LONG, Stage, rules, slot};
use crate::room::{
    Control, EndCause, Micros, Number, Patch, Rules, Standing, StayReport, StockRules, WhenShort,
};

fn up_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

fn used(numbers: &[u64]) -> StayReport {
    StayReport { used: numbers.iter().copied().map(Number).collect(), ..StayReport::default() }
}

fn ended(numbers: &[u64], cause: EndCause) -> StayReport {
    StayReport { ended: numbers.iter().map(|n| (Number(*n), cause)).collect(), ..StayReport::default() }
}

fn short(rate: &str) -> Rules {
    Rules { first_use: Duration::from_secs(30), ..rules(rate) }
}

pub(super) async fn a_stay_lasts_as_it_is_used(stage: &mut Stage) {
    stage.create(&short("10/s")).await;
    stage.join(2).await;
    stage.wait(1000, &[1, 2]).await;
    let slot = stage.slots(&[1]).await[0].unwrap();
    let stayed = stage.stays(&used(&[1, 3, 0])).await;
    let until = stage.now().plus(Duration::from_secs(600));
    assert_eq!(stayed.until, [Some(until), None, None]);
    assert_eq!((stayed.snapshot.active, stayed.snapshot.departed), (2, 0));
    stage.restart().await;
    stage.wait(40_000, &[]).await;
    let standings = stage.advance(&[1, 2]).await.standings;
    assert!(matches!(standings[0], Standing::Admitted(a) if a.until == until), "{slot} {standings:?}");
    assert_eq!(standings[1], Standing::Lapsed, "its pass was never presented");
    let stayed = stage.stays(&used(&[2])).await;
    assert_eq!((stayed.until, stayed.snapshot.active, stayed.snapshot.departed), (vec![None], 1, 1));
    assert_eq!(stayed.snapshot.ended_to, 0, "an expiry is printed, and needs no log");
}

pub(super) async fn an_end_holds_over_repeats_and_restarts(stage: &mut Stage) {
    stage.create(&rules("100/s")).await;
    stage.join(6).await;
    stage.wait(500, &up_to(6)).await;
    let first = stage.stays(&ended(&[2, 9], EndCause::Visitor)).await;
    assert_eq!((first.ended, first.log_to), (vec![Number(2)], 1));
    stage.stays(&ended(&[2, 3], EndCause::Shop)).await;
    let last = stage.stays(&ended(&[3, 4], EndCause::Operator)).await;
    assert_eq!((last.ended.clone(), last.log_to), (vec![Number(2), Number(3), Number(4)], 3));
    stage.restart().await;
    let read = stage.stays(&StayReport { log_from: 1, ..used(&[2, 3, 4, 5]) }).await;
    assert_eq!((read.ended, read.log_to), (vec![Number(3), Number(4)], 3));
    assert!(read.until[..3].iter().all(Option::is_none) && read.until[3].is_some(), "{:?}", read.until);
    assert_eq!((read.snapshot.active, read.snapshot.departed, read.snapshot.ended_to), (3, 3, 3));
    let standings = stage.advance(&[2, 3, 4]).await.standings;
    assert_eq!(standings, [Standing::Left, Standing::Left, Standing::Lapsed]);
}

pub(super) async fn a_long_log_is_read_piece_by_piece(stage: &mut Stage) {
    stage.create(&Rules { burst: 10_000, ..rules("100000/s") }).await;
    for _ in 0..3 {
        stage.join(500).await;
    }
    stage.wait(1000, &up_to(1500)).await;
    for from in [0, 500, 1000] {
        let numbers: Vec<u64> = (from + 1..=from + 500).collect();
        stage.stays(&ended(&numbers, EndCause::Shop)).await;
    }
    let (mut log_from, mut all) = (0, Vec::new());
    loop {
        let read = stage.stays(&StayReport { log_from, ..StayReport::default() }).await;
        assert_eq!((read.snapshot.active, read.snapshot.ended_to), (0, 1500));
        if read.ended.is_empty() {
            break;
        }
        all.extend(read.ended.iter().map(|n| n.0));
        log_from = read.log_to;
    }
    assert_eq!(all, up_to(1500));
}

pub(super) async fn the_cap_is_kept_and_places_are_given_on(stage: &mut Stage) {
    stage.create(&Rules { max_active: Some(3), ..short("100/s") }).await;
    stage.join(20).await;
    stage.wait(2000, &up_to(20)).await;
    let at = stage.advance(&[]).await.snapshot;
    assert_eq!((at.active, at.admitted, at.granted), (3, 3, 0));
    stage.stays(&ended(&[2], EndCause::Visitor)).await;
    let standings = stage.advance(&up_to(20)).await.standings;
    assert!(slot(&standings[3]).is_some() && slot(&standings[4]).is_none(), "{standings:?}");
    stage.restart().await;
    stage.wait(10_000, &up_to(20)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.admitted, 4, "a new life of the store keeps the cap");
    let more = Patch { max_active: Some(Some(5)), ..Patch::default() };
    stage.control(Control::Set(more)).await;
    stage.wait(5000, &up_to(20)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.active, 5);
    stage.wait(31_000, &up_to(20)).await;
    let at = stage.advance(&[]).await.snapshot;
    assert!(at.active == 5 && at.admitted >= 10, "who expired made place for others: {at:?}");
}

pub(super) async fn a_revocation_of_all_holds_over_a_restart(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(30).await;
    stage.wait(1000, &up_to(30)).await;
    let revoked = stage.control(Control::RevokeBefore).await;
    assert!(revoked.active == 0 && revoked.departed == revoked.admitted && revoked.admitted > 5);
    stage.restart().await;
    stage.wait(10_000, &up_to(30)).await;
    let advanced = stage.advance(&up_to(30)).await;
    assert_eq!(advanced.snapshot.revoked_before, revoked.revoked_before);
    for (n, standing) in (1..).zip(advanced.standings) {
        match standing {
            Standing::Lapsed => assert!(n <= revoked.admitted, "{n}"),
            Standing::Admitted(admission) => assert!(admission.slot >= revoked.revoked_before, "{n}"),
            Standing::Waiting => {}
            other => panic!("{n} {other:?}"),
        }
    }
    assert!(advanced.snapshot.active > 5, "{:?}", advanced.snapshot);
}

pub(super) async fn stock_bounds_admissions_over_a_restart(stage: &mut Stage) {
    let stock = StockRules {
        per_visitor_milli: 2000,
        reserve: 1,
        when_short: WhenShort::Waitlist,
        stale_after: LONG,
    };
    let read = |remaining| Control::StockRead { remaining };
    stage.create(&Rules { stock: Some(stock), ..rules("100/s") }).await;
    let unread = stage.control(read(9)).await;
    assert_eq!(unread.stock_places(), Some(6));
    stage.join(20).await;
    stage.wait(1000, &up_to(20)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.active, 6);
    stage.control(read(0)).await;
    stage.stays(&ended(&[1, 2, 3, 4, 5, 6], EndCause::Shop)).await;
    stage.restart().await;
    stage.wait(10_000, &up_to(20)).await;
    let at = stage.advance(&[]).await.snapshot;
    assert!(at.sold_out() && at.active == 0 && at.admitted == 6, "{at:?}");
    let back = stage.control(read(4)).await;
    assert_eq!(back.stock.map(|stock| (stock.first, stock.remaining)), Some((9, 4)));
    stage.wait(8000, &up_to(20)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.active, 3);
    assert!(stage.slots(&[7, 8, 9]).await.iter().all(Option::is_some), "in order");
}

pub(super) async fn a_clock_that_steps_back_revives_nobody(stage: &mut Stage) {
    stage.create(&short("100/s")).await;
    stage.join(3).await;
    stage.stays(&ended(&[1], EndCause::Shop)).await;
    stage.wait(40_000, &[]).await;
    stage.control(Control::RevokeBefore).await;
    stage.step_clock(-20_000_000);
    let now: Micros = stage.now();
    let stayed = stage.stays(&used(&[1, 2, 3])).await;
    assert_eq!(stayed.until, [None; 3]);
    assert!(stayed.snapshot.revoked_before <= now && stayed.snapshot.active == 0);
}
