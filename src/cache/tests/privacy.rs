//! No answer that was meant for one reader reaches another, and what may not be shared stalls nobody.

use super::*;

const ORIGIN: Duration = Duration::from_secs(1);

fn forwarded(served: &Served, why: Refusal) -> bool {
    matches!(served, Served::Forward(told) if *told == why)
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_shared_is_nobodys_and_nobody_waits_in_turn_for_it() {
    let cases: [(Vec<(&str, &str)>, Refusal); 4] = [
        (vec![("set-cookie", "session=1"), ("cache-control", "public, max-age=60")], Refusal::SetCookie),
        (vec![("cache-control", "private")], Refusal::Private),
        (vec![("cache-control", "no-store")], Refusal::NoStore),
        (vec![("vary", "*")], Refusal::Vary),
    ];
    for (headers, why) in cases {
        let shop = shop(rule(), ORIGIN);
        shop.origin.will(Act::Say(200, headers)).await;
        let begin = tokio::time::Instant::now();
        assert!(shop.crowd(1000).await.iter().all(|s| forwarded(s, why)));
        assert_eq!(begin.elapsed(), ORIGIN, "all were told at once when the one answer came");
        assert!(shop.crowd(1000).await.iter().all(|s| forwarded(s, why)));
        assert_eq!(begin.elapsed(), ORIGIN, "later readers do not wait at all");
        assert_eq!(shop.origin.asked(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_became_private_is_no_longer_shown() {
    let shop = shop(rule(), ORIGIN);
    assert_eq!(body(shop.count().await), "a/count 1");
    shop.origin.will(Act::Say(200, vec![("cache-control", "private")])).await;
    later(TTL).await;
    shop.count().await;
    later(ORIGIN * 2).await;
    assert!(forwarded(&shop.count().await, Refusal::Private));
}

#[tokio::test(start_paused = true)]
async fn what_became_cacheable_is_found_out_behind_the_readers_backs() {
    let shop = shop(rule(), ORIGIN);
    shop.origin.will(Act::Say(200, vec![("set-cookie", "a=b")])).await;
    shop.count().await;
    shop.origin.will(plain()).await;
    later(Duration::from_secs(10)).await;
    let begin = tokio::time::Instant::now();
    assert!(shop.crowd(100).await.iter().all(|s| forwarded(s, Refusal::SetCookie)));
    assert_eq!(begin.elapsed(), Duration::ZERO);
    later(ORIGIN + Duration::from_millis(1)).await;
    let told = response(shop.count().await);
    assert_eq!(told.body().as_ref(), b"a/count 2");
    assert_eq!(shop.origin.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_is_forwarded_and_remembered() {
    let shop = shop(Rule { bytes_max: 8, ..rule() }, ORIGIN);
    assert!(forwarded(&shop.count().await, Refusal::Oversized));
    assert!(shop.crowd(100).await.iter().all(|s| forwarded(s, Refusal::Oversized)));
    assert_eq!(shop.origin.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_reader_reaches_the_origin() {
    let shop = shop(rule(), Duration::ZERO);
    let names = ["cookie", "authorization", "range", "if-none-match", "x-forwarded-host", "accept-language"];
    let headers =
        names.into_iter().map(|n| (HeaderName::from_static(n), HeaderValue::from_static("x"))).collect();
    response(shop.cache.get(RuleId(0), &key("a", "/count"), &headers, &shop.fetch).await);
    assert!(!shop.origin.saw_reader.load(Ordering::SeqCst));
    assert_eq!(shop.origin.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_rule_nothing_is_cached() {
    let shop = shop(rule(), ORIGIN);
    let served = shop.cache.get(RuleId(7), &key("a", "/account"), &HeaderMap::new(), &shop.fetch).await;
    assert!(forwarded(&served, Refusal::NoRule));
    assert_eq!(shop.origin.asked(), 0);
}
