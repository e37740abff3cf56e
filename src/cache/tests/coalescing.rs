//! One question to the origin, however many ask and whatever becomes of them.

use super::*;

const ORIGIN: Duration = Duration::from_millis(300);

#[tokio::test(start_paused = true)]
async fn ten_thousand_readers_at_once_are_one_request() {
    let shop = shop(rule(), ORIGIN);
    for served in shop.crowd(10_000).await {
        assert_eq!(body(served), "a/count 1");
    }
    assert_eq!(shop.origin.asked(), 1);
    let tally = shop.cache.tally();
    assert_eq!((tally.filled, tally.fetches, tally.in_flight), (10_000, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_crowd_that_keeps_reading_is_one_request_a_second_and_waits_only_once() {
    let shop = shop(rule(), ORIGIN);
    let begin = tokio::time::Instant::now();
    shop.count().await;
    while begin.elapsed() < Duration::from_secs(10) {
        let before = tokio::time::Instant::now();
        for served in shop.crowd(1000).await {
            assert_eq!(response(served).status(), StatusCode::OK);
        }
        assert_eq!(before.elapsed(), Duration::ZERO, "a reader waited");
        later(Duration::from_millis(200)).await;
    }
    let asked = shop.origin.asked();
    assert!((8..=11).contains(&asked), "{asked} requests in 10 s");
    assert_eq!(shop.origin.most_at_once.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_writes_its_result() {
    let shop = shop(rule(), ORIGIN);
    assert_eq!(body(shop.count().await), "a/count 1");
    later(TTL).await;
    let stale = response(shop.count().await);
    assert_eq!(header(&stale, "cache-status"), "ropeline; hit; ttl=0; detail=stale");
    later(ORIGIN * 2).await;
    assert_eq!(body(shop.count().await), "a/count 2");
    assert_eq!(shop.origin.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_first_reader_that_goes_away_at_any_moment_harms_nobody() {
    for stage in 0..200 {
        let shop = shop(rule(), ORIGIN);
        let leader = tokio::spawn({
            let shop = shop.clone();
            async move { shop.count().await }
        });
        for _ in 0..stage % 8 {
            tokio::task::yield_now().await;
        }
        later(Duration::from_millis(2 * stage)).await;
        let followers = tokio::spawn({
            let shop = shop.clone();
            async move { shop.crowd(20).await }
        });
        tokio::task::yield_now().await;
        leader.abort();
        for served in followers.await.unwrap() {
            assert_eq!(body(served), "a/count 1", "stage {stage}");
        }
        assert_eq!(shop.origin.asked(), 1, "stage {stage}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_readers_all_left_is_finished_and_kept() {
    let shop = shop(rule(), ORIGIN);
    let given_up = tokio::time::timeout(Duration::from_millis(10), shop.count()).await;
    assert!(given_up.is_err());
    later(ORIGIN).await;
    let hit = response(shop.count().await);
    assert_eq!(header(&hit, "cache-status"), "ropeline; hit; ttl=1");
    assert_eq!(shop.origin.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn hosts_schemes_and_queries_are_kept_apart() {
    let shop = shop(rule(), ORIGIN);
    let keys = [
        key("a", "/count"),
        key("b", "/count"),
        key("a:8443", "/count"),
        key("a", "/count?x=1"),
        Key::new(Scheme::Http, "a", "/count"),
    ];
    for _ in 0..20 {
        for key in &keys {
            let told = body(shop.read(key).await);
            assert!(told.starts_with(&format!("{}{} ", key.authority(), key.target())), "{told}");
        }
    }
    assert_eq!(shop.origin.asked() % keys.len(), 0);
    assert!(shop.origin.asked() >= keys.len());
}

#[tokio::test(start_paused = true)]
async fn keys_asked_for_at_once_are_bounded() {
    let settings = Settings { rules: vec![rule()], fetches_max: 3, ..Settings::default() };
    let shop = shop_with(settings, ORIGIN);
    let mut crowd = JoinSet::new();
    for n in 0..50 {
        let shop = shop.clone();
        crowd.spawn(async move { shop.read(&key("a", &format!("/{n}"))).await });
    }
    let served = crowd.join_all().await;
    let turned_away = served.iter().filter(|s| matches!(s, Served::Unavailable { .. })).count();
    assert_eq!(turned_away, 47);
    assert_eq!(shop.origin.most_at_once.load(Ordering::SeqCst), 3);
    assert_eq!(
        response(shop.read(&key("a", "/49")).await).status(),
        StatusCode::OK,
        "the places are free again"
    );
}

#[tokio::test(start_paused = true)]
async fn age_grows_and_a_reader_that_has_it_gets_304() {
    let shop = shop(Rule { ttl: Duration::from_secs(60), ..rule() }, ORIGIN);
    shop.origin.will(Act::Say(200, vec![("etag", "\"v\""), ("age", "5")])).await;
    assert_eq!(header(&response(shop.count().await), "age"), "5");
    later(Duration::from_secs(9)).await;
    let headers = HeaderMap::from_iter([(http::header::IF_NONE_MATCH, HeaderValue::from_static("\"v\""))]);
    let served = shop.cache.get(RuleId(0), &key("a", "/count"), &headers, &shop.fetch).await;
    let response = response(served);
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(header(&response, "age"), "14");
}
