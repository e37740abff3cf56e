//! A cluster as the store: each room lives on one of its nodes, and the line follows it when it moves or its node dies.

use std::time::Duration;

use super::failover::{Crowd, lost_and_doubled};
use crate::support::cluster::{Cluster, ok};
use crate::support::eventually::{eventually, within};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, join_many};

const PATIENCE: Duration = Duration::from_secs(60);

/// A room on another node than `sale` is.
async fn other_room(cluster: &Cluster) -> String {
    let home = cluster.home_of("sale").await.1;
    for number in 0.. {
        let room = format!("other-{number}");
        if cluster.home_of(&room).await.1 != home {
            return room;
        }
    }
    unreachable!()
}

async fn joined(ropeline: &Ropeline, room: &str) -> App {
    let mut app = App::new(ropeline.edge(), room);
    within("a place can be taken", PATIENCE, async || {
        let reply = app.join().await.map_err(|e| e.to_string())?;
        if reply.status == 201 { Ok(()) } else { Err(format!("{} {}", reply.status, reply.text())) }
    })
    .await;
    app
}

/// Waits until each node has so many connections of ours.
async fn connected(cluster: &Cluster, wanted: &[usize]) {
    within("so many connections", PATIENCE, async || {
        let found = cluster.clients().await;
        if found == wanted { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_on_two_nodes_and_one_of_them_moves_to_the_third() {
    let cluster = Cluster::start().await;
    let other = other_room(&cluster).await;
    let (slot, home) = cluster.home_of("sale").await;
    let (_, away) = cluster.home_of(&other).await;
    let third = 3 - home - away;
    let origin = Origin::start().await;
    let second =
        format!("[[room]]\nid = \"{other}\"\npaths = [\"/other/**\"]\n[room.release]\nrate = \"1/min\"\n");
    let mut plan = Plan::before(&origin).rate("1/min").more(&second);
    plan.redis = Some(cluster.url(&[third]));
    let ropeline = Ropeline::start(plan, &origin).await;
    let before = join_many(&ropeline, 20).await;
    let neighbour = joined(&ropeline, &other).await;
    let mut wanted = [1, 1, 1];
    wanted[third] = 0;
    connected(&cluster, &wanted).await;

    cluster.move_begins(slot, home, third).await;
    within("nobody takes a place by halves", PATIENCE, async || {
        let reply = App::of(&ropeline).join().await.map_err(|e| e.to_string())?;
        if reply.status == 503 { Ok(()) } else { Err(format!("{}", reply.status)) }
    })
    .await;
    assert!(joined(&ropeline, &other).await.number > neighbour.number, "the other room does not notice");
    cluster.move_ends(slot, home, third).await;

    let newcomer = joined(&ropeline, "sale").await;
    assert!(newcomer.number > 20, "{}", newcomer.number);
    for old in &before {
        let mut app = old.clone();
        assert_eq!(app.poll().await.unwrap().json()["visitor"]["number"], old.number);
    }
    let mut wanted = [1, 1, 1];
    wanted[home] = 0;
    connected(&cluster, &wanted).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_takes_over_by_hand_under_load_and_when_its_primary_dies() {
    let mut cluster = Cluster::start().await;
    let (_, home) = cluster.home_of("sale").await;
    let replica = cluster.replica_of(home).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.redis = Some(cluster.url(&[0, 1, 2]));
    let ropeline = Ropeline::start(plan, &origin).await;
    // Nobody goes in, so that no pass can come to its end meanwhile.
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    crowd.goes_on().await;
    ok(&cluster.nodes[replica], "CLUSTER FAILOVER").await;
    let mut wanted = [0; 4];
    wanted[replica] = 1;
    connected(&cluster, &wanted).await;
    crowd.goes_on().await;
    let told = crowd.all().await;
    assert_eq!(lost_and_doubled(&told).await, (0, 0), "{} told", told.len());

    cluster.caught_up(replica).await;
    cluster.nodes[replica].kill_hard();
    let highest = told.iter().map(|app| app.number).max().unwrap();
    let newcomer = joined(&ropeline, "sale").await;
    assert!(newcomer.number > highest, "{} after {highest}", newcomer.number);
    eventually("one connection, to who took over", async || {
        (cluster.nodes[home].clients().await == 1).then_some(())
    })
    .await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!(
        "a switch and a death in a cluster: {} told a place, {lost} lost, {doubled} doubled",
        told.len()
    );
    assert_eq!((lost, doubled), (0, 0));
}
