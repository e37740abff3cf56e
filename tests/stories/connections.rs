//! How many connections an instance opens to its store: one, whatever comes.

use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, join_many};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_instance_holds_one_connection_for_all_rooms_and_visitors() {
    let redis = Redis::start().await;
    let origin = Origin::start().await;
    let second = "[[room]]\nid = \"second\"\npaths = [\"/second/**\"]\n[room.release]\nrate = \"1/min\"\n";
    let plan = Plan::before(&origin).rate("1/min").more(second).on(&redis);
    let three = Ropeline::start_many(plan, &origin, 3).await;
    for ropeline in &three {
        let second = App::new(ropeline.edge(), "second");
        let (joined, also) = tokio::join!(join_many(ropeline, 200), async {
            let mut second = second;
            second.join().await.unwrap().status
        });
        assert_eq!((joined.len(), also), (200, 201));
    }
    assert_eq!(redis.clients().await, three.len());
    let said = redis.say(&["INFO stats"]).await.unwrap();
    let made = said.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    println!("3 instances, 2 rooms, 603 joins: 3 connections; {} ever made, by tests too", made.unwrap());
}
