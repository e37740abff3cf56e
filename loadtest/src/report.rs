//! A result file: question, machine, commit, command, configuration, tables, reading. Always in this order.

use std::fmt::Write as _;
use std::path::Path;

use crate::fault::Result;
use crate::machine::{self, Machine};

/// One result file in the making.
pub(crate) struct Report {
    name: &'static str,
    question: &'static str,
    machine: Machine,
    setup: Vec<String>,
    configuration: Vec<(String, String)>,
    tables: Vec<Table>,
    reading: Vec<String>,
}

/// A table: its caption, its columns, its rows.
pub(crate) struct Table {
    caption: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(caption: impl Into<String>, columns: &[&'static str]) -> Self {
        Self { caption: caption.into(), columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// As Markdown: the first column to the left, figures to the right.
    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let heads: Vec<String> = self.columns.iter().map(ToString::to_string).collect();
        let rule = (0..heads.len()).map(|column| if column == 0 { "---" } else { "---:" }.to_owned());
        let mut text = format!("{}\n\n{}", self.caption, line(&heads));
        text += &line(&rule.collect::<Vec<_>>());
        self.rows.iter().for_each(|row| text += &line(row));
        text
    }
}

impl Report {
    /// Takes the machine's facts now, before any load is on it.
    pub(crate) fn new(name: &'static str, question: &'static str) -> Self {
        let (setup, configuration) = (Vec::new(), Vec::new());
        let (tables, reading) = (Vec::new(), Vec::new());
        Self { name, question, machine: Machine::read(), setup, configuration, tables, reading }
    }

    /// A sentence on how it was measured.
    pub(crate) fn setup(&mut self, sentence: impl Into<String>) {
        self.setup.push(sentence.into());
    }

    /// A file or command line that a process was started with.
    pub(crate) fn configuration(&mut self, title: impl Into<String>, text: impl Into<String>) {
        self.configuration.push((title.into(), text.into()));
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// A sentence on what the figures mean.
    pub(crate) fn reading(&mut self, sentence: impl Into<String>) {
        self.reading.push(sentence.into());
    }

    /// The whole file.
    pub(crate) fn markdown(&self, command: &str) -> String {
        let Machine { cores, cpu, kernel, load, commit, date } = &self.machine;
        let mut text = format!("# {}\n\n**Question.** {}\n\n", self.name, self.question);
        let _ = writeln!(text, "| | |\n| --- | --- |");
        let _ = writeln!(
            text,
            "| machine | {cores} cores, {cpu}, Linux {kernel}; load average {load} before, {} at the end |",
            machine::load()
        );
        let _ = writeln!(text, "| commit | {commit} |\n| date | {date} |\n| command | `{command}` |\n");
        text += "## How\n\n";
        self.setup.iter().for_each(|sentence| text += &format!("- {sentence}\n"));
        text += "\n## Result\n\n";
        self.tables.iter().for_each(|table| text += &format!("{}\n", table.markdown()));
        text += "## Reading\n\n";
        self.reading.iter().for_each(|sentence| text += &format!("- {sentence}\n"));
        text += "\n## Configuration\n";
        for (title, body) in &self.configuration {
            let _ = write!(text, "\n{title}:\n\n```\n{}\n```\n", body.trim());
        }
        text
    }

    /// Writes `NAME.md` into a directory.
    pub(crate) fn write(&self, into: &Path, command: &str) -> Result<()> {
        std::fs::create_dir_all(into)?;
        std::fs::write(into.join(format!("{}.md", self.name)), self.markdown(command))?;
        Ok(())
    }
}

/// A figure with as many digits as it deserves.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => thousands(value),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        for (value, text) in [
            (0.0, "0.00"),
            (1.234, "1.23"),
            (45.67, "45.7"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
            (-123.0, "-123"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn a_report_has_its_parts_in_order() {
        let mut report = Report::new("polls", "How many?");
        report.setup("Pinned.");
        report.configuration("shop.toml", "a = 1\n");
        let mut table = Table::new("At once:", &["who", "polls/s"]);
        table.row(vec!["edge".into(), figure(12_345.0)]);
        report.table(table);
        report.reading("Fast.");
        let text = report.markdown("loadtest bench polls");
        let parts = [
            "# polls",
            "How many?",
            "| machine |",
            "`loadtest bench polls`",
            "- Pinned.",
            "| who | polls/s |\n| --- | ---: |\n| edge | 12,345 |",
            "- Fast.",
            "shop.toml:\n\n```\na = 1\n```",
        ];
        let places: Vec<_> = parts.iter().map(|part| text.find(part).unwrap_or(usize::MAX)).collect();
        assert!(places.is_sorted() && !places.contains(&usize::MAX), "{places:?}\n{text}");
    }
}
