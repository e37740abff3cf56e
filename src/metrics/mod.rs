//! What is counted, and its text for Prometheus.
//!
//! `table` is the one list of metrics, `record` the typed functions through which the other parts count
//! (`metrics::polled(room)`), and this file the recorder behind them. There is no listener here: the admin
//! listener serves [`Handle::render`]. Without [`install`] every call is a no-op, so tests need no set-up.

mod accounts;
mod record;
mod table;

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

pub use accounts::*;
pub use record::*;
pub use table::{Kind, Metric, TABLE};

/// Reads what was counted.
#[derive(Clone)]
pub struct Handle(PrometheusHandle);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("metrics::Handle")
    }
}

impl Handle {
    /// Media type of [`Handle::render`].
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Everything counted so far, in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Folds what histograms have collected since the last call into their buckets. Somebody must call this
    /// every few seconds (the admin listener does): until then each observation takes memory.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Makes the recorder that all parts count into. The first call of a process does it; later ones return the
/// same handle.
pub fn install() -> Handle {
    static INSTALLED: OnceLock<Handle> = OnceLock::new();
    INSTALLED
        .get_or_init(|| {
            let recorder = recorder();
            let handle = Handle(recorder.handle());
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder was installed first; /metrics will stay empty");
            }
            describe();
            handle
        })
        .clone()
}

/// A recorder with the buckets of the table.
fn recorder() -> PrometheusRecorder {
    let mut builder = PrometheusBuilder::new();
    for metric in TABLE {
        if let Kind::Histogram(bounds) = metric.kind {
            let name = Matcher::Full(metric.name.to_owned());
            builder = builder.set_buckets_for_metric(name, bounds).expect("the table has no empty buckets");
        }
    }
    builder.build_recorder()
}

/// Gives the recorder the sentence and unit of every metric.
fn describe() {
    for Metric { name, kind, unit, help, .. } in TABLE {
        match kind {
            Kind::Counter => metrics::describe_counter!(*name, *unit, *help),
            Kind::Gauge => metrics::describe_gauge!(*name, *unit, *help),
            Kind::Histogram(_) => metrics::describe_histogram!(*name, *unit, *help),
        }
    }
    record::built();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_twice_gives_the_same_recorder() {
        let first = install();
        let second = install();
        reload_ok(true);
        assert!(first.render().contains("ropeline_config_reload_ok 1"));
        assert!(second.render().contains("ropeline_build_info{version="));
        first.upkeep();
    }
}

#[cfg(test)]
pub(crate) mod test_support {
    use super::*;

    /// Runs `f` with a recorder of its own and returns what it counted.
    pub(crate) fn counted(f: impl FnOnce()) -> String {
        let recorder = recorder();
        metrics::with_local_recorder(&recorder, || {
            describe();
            f();
        });
        recorder.handle().render()
    }
}
