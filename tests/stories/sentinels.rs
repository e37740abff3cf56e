//! A store whose primary changes: sentinels say which server it is, and the line goes on there without a restart.

use std::time::Duration;

use super::failover::{Crowd, lost_and_doubled, replica_of};
use crate::support::eventually::{eventually, within};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ports;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::sentinel::{NAME, Sentinel};
use crate::support::visitor::join_many;

const PATIENCE: Duration = Duration::from_secs(60);

fn plan(origin: &Origin, sentinels: &[Sentinel]) -> Plan {
    let mut plan = Plan::before(origin).rate("1/min");
    // Nobody is there at the first of them.
    let hosts: Vec<String> = sentinels.iter().map(|s| format!(",127.0.0.1:{}", s.port)).collect();
    plan.redis = Some(format!("redis+sentinel://127.0.0.1:{}{}/{NAME}", ports::free(), hosts.concat()));
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_of_the_primary_under_load_loses_nobody() {
    let primary = Redis::start().await;
    let replica = replica_of(&primary).await;
    let sentinels = Sentinel::watch(&primary, 3).await;
    let origin = Origin::start().await;
    let mut plan = plan(&origin, &sentinels);
    plan.store = "durability = \"replicas\"\nreplicas = 1".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    assert_eq!((primary.clients().await, replica.clients().await), (1, 0), "one connection, to the primary");
    // Nobody goes in, so that no pass can come to its end meanwhile.
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    for (from, to) in [(&primary, &replica), (&replica, &primary)] {
        crowd.goes_on().await;
        within("the sentinels switch", PATIENCE, async || {
            if sentinels[0].primary().await == Some(to.port()) {
                return Ok(());
            }
            // Refused while the last one is not over.
            Err(format!("{:?}", sentinels[0].ask::<String>(&["FAILOVER", NAME]).await))
        })
        .await;
        eventually("one connection to the new primary, none to the old one", async || {
            ((to.clients().await, from.clients().await) == (1, 0)).then_some(())
        })
        .await;
    }
    crowd.goes_on().await;
    let told = crowd.all().await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!("2 switches by sentinels: {} told a place, {lost} lost, {doubled} doubled", told.len());
    assert_eq!((lost, doubled), (0, 0));
    for sentinel in &sentinels {
        eventually("no connection to a sentinel is kept", async || {
            (sentinel.clients().await? == 0).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_line_goes_on_at_the_replica_when_primary_and_a_sentinel_die() {
    let login = [("requirepass", "hush"), ("masterauth", "hush")];
    let mut primary = Redis::with(&login).await;
    let replica_at = format!("127.0.0.1 {}", primary.port());
    let replica = Redis::with(&[&login[..], &[("replicaof", &replica_at)]].concat()).await;
    let caught_up = async || {
        let said = primary.say(&["AUTH hush", "INFO replication"]).await.unwrap();
        let field = |name: &str| {
            let value = said.split(name).nth(1)?.split(['\r', ',']).next()?;
            value.parse::<u64>().ok()
        };
        let (here, there) = (field("master_repl_offset:"), field(",offset="));
        (here.is_some() && here == there).then_some(())
    };
    eventually("the replica has caught up", caught_up).await;
    let guarded = format!("sentinel auth-pass {NAME} hush\nrequirepass quiet\nsentinel sentinel-pass quiet");
    let mut sentinels = Sentinel::guarded(&primary, 3, &guarded, "quiet").await;
    let origin = Origin::start().await;
    let mut plan = plan(&origin, &sentinels);
    let url = plan.redis.unwrap().replace("://", "://:hush@");
    plan.redis = Some(format!("{url}?sentinel_password=quiet"));
    let ropeline = Ropeline::start(plan, &origin).await;
    let before = join_many(&ropeline, 50).await;
    ropeline.pause("nothing is written while we look").await;
    eventually("the replica has caught up", caught_up).await;
    ropeline.resume().await;

    sentinels[0].kill_hard();
    primary.kill_hard();

    within("places can be taken at the replica", PATIENCE, async || {
        let mut probe = before[0].clone();
        let reply = probe.join().await.map_err(|e| e.to_string())?;
        if reply.status == 200 { Ok(()) } else { Err(format!("{} {}", reply.status, reply.text())) }
    })
    .await;
    assert_eq!(sentinels[1].primary().await, Some(replica.port()));
    for old in &before {
        let mut app = old.clone();
        assert_eq!(app.poll().await.unwrap().json()["visitor"]["number"], old.number);
    }
    let newcomers = join_many(&ropeline, 20).await;
    assert!(newcomers.iter().all(|app| app.number > 50), "{newcomers:?}");
    assert!(!ropeline.log().contains("hush") && !ropeline.log().contains("quiet"));
}
