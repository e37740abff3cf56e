//! A real Redis Cluster of three primaries, each with a third of the slots.

use super::eventually::eventually;
use super::ports;
use super::redis::Redis;

/// Slots of any cluster.
const SLOTS: usize = 16384;
const PRIMARIES: usize = 3;

/// The nodes.
pub struct Cluster {
    pub nodes: Vec<Redis>,
}

impl Cluster {
    /// Starts one that serves every slot.
    pub async fn start() -> Self {
        let mut cluster = Self { nodes: Vec::new() };
        for index in 0..PRIMARIES {
            let node = cluster.join().await;
            let (first, last) = (SLOTS * index / PRIMARIES, SLOTS * (index + 1) / PRIMARIES - 1);
            ok(&cluster.nodes[node], &format!("CLUSTER ADDSLOTSRANGE {first} {last}")).await;
        }
        cluster.settled().await;
        cluster
    }

    /// Starts one more node and makes it known; its index.
    async fn join(&mut self) -> usize {
        let bus = ports::free();
        let settings = [
            ("cluster-enabled", "yes"),
            ("cluster-port", &bus.to_string()),
            ("cluster-node-timeout", "2000"),
        ];
        let node = Redis::with(&settings).await;
        if let Some(known) = self.nodes.first() {
            ok(known, &format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port())).await;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Starts a replica of a node and waits until it has caught up; its index.
    pub async fn replica_of(&mut self, primary: usize) -> usize {
        let node = self.join().await;
        let id = self.id(primary).await;
        eventually("the new node knows the one that it is to follow", async || {
            let said = self.nodes[node].say(&[&format!("CLUSTER REPLICATE {id}")]).await.ok()?;
            said.starts_with("+OK").then_some(())
        })
        .await;
        self.settled().await;
        self.caught_up(primary).await;
        node
    }

    /// Waits until the one replica of a node has all that its primary has.
    pub async fn caught_up(&self, primary: usize) {
        eventually("the replica has caught up", async || {
            let said = self.nodes[primary].say(&["INFO replication"]).await.ok()?;
            let field = |name: &str| said.split(name).nth(1)?.split(['\r', ',']).next()?.parse::<u64>().ok();
            let (here, there) = (field("master_repl_offset:")?, field(",offset=")?);
            (said.contains("state=online") && here == there).then_some(())
        })
        .await;
    }

    /// Waits until every node sees every other, and every slot served.
    async fn settled(&self) {
        let known = format!("cluster_known_nodes:{}\r", self.nodes.len());
        for node in &self.nodes {
            eventually("the nodes know each other", async || {
                let said = node.say(&["CLUSTER INFO"]).await.ok()?;
                (said.contains("cluster_state:ok") && said.contains(&known)).then_some(())
            })
            .await;
        }
    }

    /// The name that a node has among the others.
    pub async fn id(&self, node: usize) -> String {
        let said = self.nodes[node].say(&["CLUSTER MYID"]).await.unwrap();
        said.lines().nth(1).unwrap().to_owned()
    }

    /// The slot of a room's keys, and which of the first nodes had it at the start.
    pub async fn home_of(&self, room: &str) -> (usize, usize) {
        let said = self.nodes[0].say(&[&format!("CLUSTER KEYSLOT rl:{{{room}}}")]).await.unwrap();
        let slot: usize = said.lines().next().unwrap().trim_start_matches(':').parse().unwrap();
        let node = (0..PRIMARIES).find(|index| slot < SLOTS * (index + 1) / PRIMARIES);
        (slot, node.unwrap())
    }

    /// An address that names these nodes.
    pub fn url(&self, nodes: &[usize]) -> String {
        let hosts: Vec<String> =
            nodes.iter().map(|node| format!("127.0.0.1:{}", self.nodes[*node].port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// How many connections of clients each node has.
    pub async fn clients(&self) -> Vec<usize> {
        let mut all = Vec::new();
        for node in &self.nodes {
            all.push(node.clients().await);
        }
        all
    }

    /// Begins to move a slot.
    pub async fn move_begins(&self, slot: usize, from: usize, to: usize) {
        let (source, target) = (self.id(from).await, self.id(to).await);
        ok(&self.nodes[to], &format!("CLUSTER SETSLOT {slot} IMPORTING {source}")).await;
        ok(&self.nodes[from], &format!("CLUSTER SETSLOT {slot} MIGRATING {target}")).await;
    }

    /// Moves its keys and ends the move.
    pub async fn move_ends(&self, slot: usize, from: usize, to: usize) {
        let keys = self.nodes[from].say(&[&format!("CLUSTER GETKEYSINSLOT {slot} 1000")]).await.unwrap();
        for key in keys.lines().filter(|line| line.starts_with("rl:")) {
            let port = self.nodes[to].port();
            ok(&self.nodes[from], &format!("MIGRATE 127.0.0.1 {port} {key} 0 5000")).await;
        }
        let target = self.id(to).await;
        for node in [to, from] {
            ok(&self.nodes[node], &format!("CLUSTER SETSLOT {slot} NODE {target}")).await;
        }
    }
}

/// Says something that must succeed.
pub async fn ok(node: &Redis, command: &str) {
    let said = node.say(&[command]).await.unwrap();
    assert!(said.starts_with("+OK"), "{command}: {said}");
}
