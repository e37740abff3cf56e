//! What an instance counted, read from its `/metrics`.

/// One reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scrape(Vec<(String, f64)>);

/// The sizes of batches between two readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Batches {
    pub(crate) count: f64,
    pub(crate) entries: f64,
    /// Upper bounds of the histogram, each with how many batches were not larger.
    buckets: Vec<(f64, f64)>,
}

impl Scrape {
    pub(crate) fn read(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let pairs = lines.filter_map(|line| line.rsplit_once(' '));
        Self(pairs.filter_map(|(key, value)| Some((key.to_owned(), value.parse().ok()?))).collect())
    }

    /// The sum of all series that begin with a name and have all of some labels.
    pub(crate) fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let fits = |key: &str| {
            let (own, rest) = key.split_once('{').unwrap_or((key, ""));
            own == name && labels.iter().all(|label| rest.contains(label))
        };
        self.0.iter().filter(|(key, _)| fits(key)).map(|(_, value)| value).sum()
    }

    /// The batches of joins that this reading has and an earlier one had not.
    pub(crate) fn batches_since(&self, earlier: &Self) -> Batches {
        let since = |name: &str| {
            let name = format!("ropeline_store_batch_entries_{name}");
            self.sum(&name, &[r#"verb="join""#]) - earlier.sum(&name, &[r#"verb="join""#])
        };
        let bounds = ["1", "2", "5", "10", "20", "50", "100", "200", "500"];
        let bucket = |bound: &&str| {
            let labels = [r#"verb="join""#, &format!(r#"le="{bound}""#)];
            let name = "ropeline_store_batch_entries_bucket";
            Some((bound.parse().ok()?, self.sum(name, &labels) - earlier.sum(name, &labels)))
        };
        Batches {
            count: since("count"),
            entries: since("sum"),
            buckets: bounds.iter().filter_map(bucket).collect(),
        }
    }
}

impl Batches {
    /// Entries of a batch, on average.
    pub(crate) fn mean(&self) -> f64 {
        crate::stats::ratio(self.entries, self.count)
    }

    /// The bucket in which the batch lies that `percent` of the batches do not exceed, as `21-50`.
    pub(crate) fn percentile(&self, percent: f64) -> String {
        let wanted = self.count * percent / 100.0;
        let mut below = 0.0;
        for (bound, count) in &self.buckets {
            if *count >= wanted {
                return if below + 1.0 >= *bound {
                    format!("{bound}")
                } else {
                    format!("{}-{bound}", below + 1.0)
                };
            }
            below = *bound;
        }
        format!("over {below}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_told_by_difference() {
        let text = |one: u32, ten: u32, sum: u32| {
            format!(
                "# HELP x\nropeline_store_batch_entries_bucket{{verb=\"join\",le=\"1\"}} {one}\n\
                 ropeline_store_batch_entries_bucket{{verb=\"join\",le=\"10\"}} {ten}\n\
                 ropeline_store_batch_entries_bucket{{verb=\"join\",le=\"+Inf\"}} {ten}\n\
                 ropeline_store_batch_entries_sum{{verb=\"join\"}} {sum}\n\
                 ropeline_store_batch_entries_count{{verb=\"join\"}} {ten}\n"
            )
        };
        let (earlier, later) = (Scrape::read(&text(1, 1, 1)), Scrape::read(&text(2, 11, 81)));
        let batches = later.batches_since(&earlier);
        assert_eq!((batches.count, batches.mean()), (10.0, 8.0));
        assert_eq!((batches.percentile(5.0), batches.percentile(50.0)), ("1".into(), "6-10".into()));
    }

    #[test]
    fn sums_need_name_and_labels() {
        let scrape = Scrape::read("a_total{x=\"1\",y=\"2\"} 3\na_total{x=\"2\",y=\"2\"} 4\nab_total 9\n");
        assert_eq!(scrape.sum("a_total", &[]), 7.0);
        assert_eq!(scrape.sum("a_total", &["x=\"1\""]), 3.0);
        assert_eq!(scrape.sum("ab_total", &[]), 9.0);
        assert_eq!(scrape.sum("none", &[]), 0.0);
    }
}
