//! Joins end to end: `POST .../tickets` over kept connections, a signed ticket in every answer.

use super::subject::{Seen, Subject};
use super::{Bounds, shown};
use crate::fault::Result;
use crate::load::client::Client;
use crate::load::wrk::Load;
use crate::peers::redis::{Fsync, Redis};
use crate::peers::ropeline::{Plan, Ropeline, room_path};
use crate::report::{Report, Table, figure};
use crate::scrape::Batches;
use crate::stats::{median, ratio};

/// Slow enough that nearly everybody stays in line.
const RATE: &str = "1/min";
const CONNECTIONS: [usize; 3] = [64, 512, 2000];

struct Row<'p> {
    subject: Subject<'p>,
    instance: &'p Ropeline,
    /// Whose CPU time counts beside ropeline's own.
    redis: Option<&'p Redis>,
    /// Its microseconds a join, one value a round.
    redis_cpu: Vec<f64>,
    batches: Vec<Batches>,
}

impl Row<'_> {
    async fn round(&mut self, bounds: &Bounds, client: &Client, counts: bool) -> Result<()> {
        let before = self.instance.scrape(client).await?;
        let redis_before = self.redis_cpu()?;
        self.subject.round(bounds, counts).await?;
        let redis = self.redis_cpu()? - redis_before;
        let batches = self.instance.scrape(client).await?.batches_since(&before);
        if counts {
            self.redis_cpu.push(ratio(redis * 1e6, batches.entries));
            self.batches.push(batches);
        }
        Ok(())
    }

    /// Seconds so far.
    fn redis_cpu(&self) -> Result<f64> {
        Ok(self.redis.map(|redis| redis.process.cpu()).transpose()?.unwrap_or_default().as_secs_f64())
    }
}

pub(super) async fn run(bounds: &Bounds, report: &mut Report) -> Result<()> {
    let client = Client::new();
    let redis = Redis::start(&bounds.home, Fsync::Always)?;
    let on_file = Plan::new(RATE);
    let on_redis = Plan { store: Some(redis.url()), ..Plan::new(RATE) };
    let instances = [
        ("embedded, fsync", None, Ropeline::start(&bounds.home, &on_file, &client).await?),
        ("Redis, AOF always", Some(&redis), Ropeline::start(&bounds.home, &on_redis, &client).await?),
    ];
    let mut rows: Vec<Row<'_>> =
        instances.iter().flat_map(|(name, redis, instance)| rows_of(name, *redis, instance)).collect();
    for round in 0..=bounds.rounds {
        for row in &mut rows {
            row.round(bounds, &client, round > 0)
                .await
                .map_err(|error| format!("{}: {error}", row.subject.name))?;
        }
    }
    report.setup(
        "Over HTTP: `wrk`, closed loop, POST of new visitors to the edge, who get number and signed ticket; batches by the \
         instance's own histogram.",
    );
    let [(_, _, instance), ..] = &instances;
    report.configuration(
        "ropeline.toml, embedded (the others differ in [store])",
        shown(&instance.configuration, &bounds.home),
    );
    tell(report, &rows);
    Ok(())
}

fn rows_of<'p>(name: &'static str, redis: Option<&'p Redis>, instance: &'p Ropeline) -> Vec<Row<'p>> {
    let load = |connections| Load {
        to: instance.edge,
        method: "POST",
        path: room_path("/tickets"),
        header: "Accept",
        values: vec!["application/json".to_owned()],
        connections,
    };
    let row = |connections| Row {
        subject: Subject::new(name, load(connections), &instance.process),
        instance,
        redis,
        redis_cpu: Vec::new(),
        batches: Vec::new(),
    };
    CONNECTIONS.into_iter().map(row).collect()
}

fn tell(report: &mut Report, rows: &[Row<'_>]) {
    let columns = [
        "over HTTP",
        "connections",
        "joins/s",
        "spread",
        "p50 ms",
        "p99 ms",
        "CPU us each",
        "core busy",
        "Redis us each",
        "batch mean",
        "batch p50",
        "batch p99",
    ];
    let mut table = Table::new(
        "End to end, `POST .../tickets`; CPU of the ropeline process, and of Redis beside it:",
        &columns,
    );
    for row in rows {
        let cells = row.subject.seen.cells(row.subject.name, 0.0);
        let [name, a_second, spread, p50, p99, cpu, _, busy, _] = cells.try_into().unwrap_or_default();
        let mean: Vec<f64> = row.batches.iter().map(Batches::mean).collect();
        let bucket =
            |percent| row.batches.last().map(|batches| batches.percentile(percent)).unwrap_or_default();
        let connections = row.subject.load.connections.to_string();
        let batches = [figure(median(&row.redis_cpu)), figure(median(&mean)), bucket(50.0), bucket(99.0)];
        table.row(
            [name, connections, a_second, spread, p50, p99, cpu, busy].into_iter().chain(batches).collect(),
        );
    }
    report.table(table);
    for name in ["embedded, fsync", "Redis, AOF always"] {
        let own = rows.iter().filter(|row| row.subject.name == name).map(|row| &row.subject.seen);
        let Some(best) = own.max_by(|a, b| Seen::a_second_median(a).total_cmp(&b.a_second_median())) else {
            continue;
        };
        report.reading(format!(
            "{name}: up to {} joins a second over HTTP with one core for ropeline, {} us of its CPU each, p50 {} ms, p99 {} ms.",
            figure(best.a_second_median()),
            figure(best.cpu_median()),
            figure(median(&best.p50)),
            figure(median(&best.p99))
        ));
    }
    report.reading(
        "Latencies are of a closed loop: with so many connections always asking, they are about connections / joins a second. A \
         visitor who comes alone waits for the window of a batch (3 ms) and one commit.",
    );
}
