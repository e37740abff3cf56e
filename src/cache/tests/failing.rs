//! An origin that fails, hangs, breaks off or panics: asked no more often than a healthy one, the last good
//! answer shown within its bound, then 503, and nobody waits beyond the bound.

use super::*;

const ORIGIN: Duration = Duration::from_millis(300);

fn is_unavailable(served: &Served) -> bool {
    matches!(served, Served::Unavailable { retry_after: 1..=20 })
}

#[tokio::test(start_paused = true)]
async fn readers_of_a_hung_origin_are_all_done_within_the_bound() {
    let shop = shop(rule(), ORIGIN);
    shop.origin.will(Act::Hang).await;
    let begin = tokio::time::Instant::now();
    let served = shop.crowd(2000).await;
    assert!(served.iter().all(is_unavailable));
    assert_eq!(begin.elapsed().as_secs(), 5);
    assert!(shop.crowd(2000).await.iter().all(is_unavailable));
    assert_eq!(begin.elapsed().as_secs(), 5, "who comes late does not wait");
    assert_eq!(shop.origin.asked(), 1);

    later(Duration::from_secs(26)).await;
    assert_eq!(shop.cache.tally().in_flight, 0, "the hung request was given up");
    shop.origin.will(plain()).await;
    assert_eq!(body(shop.count().await), "a/count 2");
}

#[tokio::test(start_paused = true)]
async fn waiters_beyond_their_bound_are_answered_at_once() {
    let settings = Settings { rules: vec![rule()], waiters_max: 10, ..Settings::default() };
    let shop = shop_with(settings, ORIGIN);
    let served = shop.crowd(25).await;
    assert_eq!(served.iter().filter(|s| is_unavailable(s)).count(), 15);
    assert_eq!(shop.origin.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failing_origin_is_asked_once_a_ttl_and_its_last_answer_shown_within_the_bound() {
    for act in [Act::Say(500, vec![]), Act::Break(FetchError::Unreachable), Act::Break(FetchError::Truncated)]
    {
        let shop = shop(rule(), ORIGIN);
        assert_eq!(body(shop.count().await), "a/count 1");
        shop.origin.will(act).await;
        let begin = tokio::time::Instant::now();
        let mut age = 0;
        while begin.elapsed() < Duration::from_secs(60) {
            let waited = tokio::time::Instant::now();
            for served in shop.crowd(20).await {
                match served {
                    Served::Answer(response) => {
                        assert_eq!(response.body().as_ref(), b"a/count 1");
                        let now: u64 = header(&response, "age").parse().unwrap();
                        assert!(now >= age && now <= 31, "age {now} after {age}");
                        age = now;
                    }
                    other => assert!(is_unavailable(&other) && begin.elapsed() >= Duration::from_secs(30)),
                }
            }
            if begin.elapsed() < Duration::from_secs(30) {
                assert_eq!(waited.elapsed(), Duration::ZERO, "a reader waited for a failing origin");
            }
            later(Duration::from_millis(200)).await;
        }
        assert!(age >= 30);
        let asked = shop.origin.asked();
        assert!((40..=62).contains(&asked), "{asked} requests in 60 s");
        shop.origin.will(plain()).await;
        later(TTL).await;
        assert!(body(shop.count().await).starts_with("a/count "), "well again within one ttl");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_last_answer_failure_is_503_and_the_origin_is_left_alone() {
    let shop = shop(Rule { ttl: Duration::from_secs(4), ..rule() }, ORIGIN);
    shop.origin.will(Act::Say(503, vec![])).await;
    assert!(shop.crowd(1000).await.iter().all(is_unavailable));
    for _ in 0..6 {
        later(Duration::from_millis(500)).await;
        assert!(shop.crowd(100).await.iter().all(is_unavailable));
    }
    assert_eq!(shop.origin.asked(), 1);
    later(Duration::from_secs(1)).await;
    shop.count().await;
    assert_eq!(shop.origin.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_fetching_is_a_failure_and_does_not_poison_the_key() {
    let shop = shop(rule(), ORIGIN);
    shop.origin.will(Act::Panic).await;
    assert!(shop.crowd(100).await.iter().all(is_unavailable));
    assert_eq!(shop.origin.asked(), 1);
    shop.origin.will(plain()).await;
    later(TTL).await;
    assert_eq!(body(shop.count().await), "a/count 2");
}

#[tokio::test(start_paused = true)]
async fn an_error_is_never_stored_and_never_replaces_a_good_answer() {
    for status in [500, 404, 302, 429] {
        let shop = shop(rule(), ORIGIN);
        assert_eq!(body(shop.count().await), "a/count 1");
        shop.origin.will(Act::Say(status, vec![])).await;
        later(TTL).await;
        shop.count().await;
        later(ORIGIN).await;
        assert_eq!(body(shop.count().await), "a/count 1", "{status}");
        shop.origin.will(plain()).await;
        later(TTL).await;
        shop.count().await;
        later(ORIGIN * 2).await;
        assert_ne!(body(shop.count().await), "a/count 1", "{status}: fresh again within one ttl");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_exist_is_told_to_all_who_wait_and_not_kept() {
    let shop = shop(rule(), ORIGIN);
    shop.origin.will(Act::Say(404, vec![])).await;
    for served in shop.crowd(500).await {
        assert_eq!(response(served).status(), StatusCode::NOT_FOUND);
    }
    assert_eq!(shop.origin.asked(), 1);
    shop.origin.will(plain()).await;
    assert_eq!(body(shop.count().await), "a/count 2");
}
