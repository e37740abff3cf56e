//! What every store must do, as one list of scenarios that both drivers pass, and random histories in which
//! they must answer exactly as the pure room does.
//!
//! Redis is the distribution's `redis-server`, started for each test on a free port in a directory of its
//! own. A failed history prints its seed; `ROPELINE_SEED=n cargo test --lib conformance` replays it alone.

pub(super) mod chance;
mod histories;
mod inside;
mod killed;
mod losses;
mod measure;
mod opening;
mod scenarios;
pub(super) mod server;
mod stage;
mod there;

use self::stage::Stage;

macro_rules! both_stores {
    ($($part:ident: $($name:ident),* $(,)?);*) => {
        mod embedded {
            $($(#[tokio::test]
            async fn $name() {
                super::$part::$name(&mut super::Stage::embedded()).await;
            })*)*
        }
        mod redis {
            $($(#[tokio::test]
            async fn $name() {
                super::$part::$name(&mut super::Stage::redis().await).await;
            })*)*
        }
    };
}

both_stores![
    scenarios:
    a_room_is_made_once_and_never_by_a_join,
    numbers_come_in_order_over_many_batches,
    a_repeated_batch_gets_the_same_numbers,
    an_identity_keeps_its_number,
    in_an_idle_room_one_call_joins_and_enters,
    a_slot_is_picked_up_once,
    slots_are_spaced_in_the_order_of_the_numbers,
    a_grant_is_picked_up_later,
    who_went_away_is_passed_over_and_goes_first_on_return,
    a_missed_turn_lapses,
    a_place_can_be_given_up,
    a_pause_sends_grants_back_and_survives_a_restart,
    a_resume_makes_up_for_nothing,
    no_window_exceeds_rate_and_burst,
    the_total_is_never_exceeded,
    a_full_line_takes_nobody,
    a_clock_that_steps_neither_stalls_nor_bursts,
    a_flush_starts_another_life_and_goes_on_counting,
    settings_of_the_operator_survive_a_restart,
    a_store_that_shows_less_than_was_seen_is_refused,
    nothing_is_lost_by_a_restart,
    rooms_do_not_touch_each_other;
    there:
    presence_is_what_its_rules_say,
    who_left_stays_away_over_a_restart;
    inside:
    a_stay_lasts_as_it_is_used,
    an_end_holds_over_repeats_and_restarts,
    a_long_log_is_read_piece_by_piece,
    the_cap_is_kept_and_places_are_given_on,
    a_revocation_of_all_holds_over_a_restart,
    stock_bounds_admissions_over_a_restart,
    a_clock_that_steps_back_revives_nobody;
    opening:
    before_the_doors_nobody_joins_and_in_the_lobby_nobody_goes_in,
    the_first_slot_is_at_second_0_and_there_is_no_ramp,
    after_closing_there_are_no_places_and_nobody_goes_in,
    the_operator_wins_over_the_schedule_until_it_is_undone,
    a_lobby_is_drawn_once_and_everybody_keeps_the_number,
    a_draw_numbers_those_who_left_and_those_who_come_again,
    a_batch_of_the_lobby_is_repeated_after_the_draw,
    a_draw_waits_for_its_seed_and_its_public_value,
    a_flush_is_the_end_of_a_draw,
];
