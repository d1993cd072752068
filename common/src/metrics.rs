//! The catalogue of metrics: what each one is called, counts and promises. Define once, derive the rest.
//!
//! Each metric is one row ([`catalogue`]). From the rows come the instruments ([`Metric::counter`] and its neighbours,
//! made on whatever meter the caller has), the limits and buckets of the exporter, `docs/reference/metrics.md`, and the
//! test that dashboards and alerts name nothing that is not here.
//!
//! Nothing is exported, read or timed here: this names the OpenTelemetry *API*, which does nothing by itself. Start
//! reading at [`Metric`].

pub mod attribute;
pub mod catalogue;
pub mod ends;
mod instrument;

pub use self::{attribute::Attribute, catalogue::ALL};

/// What a metric does with the numbers it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows with each event.
    Counter,
    /// Sorts values into buckets, with their sum and count.
    Histogram,
    /// Is read whenever metrics are collected.
    Gauge,
    /// A total that is kept elsewhere and read whenever metrics are collected.
    ObservedCounter,
}

impl Kind {
    /// The word for readers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter | Self::ObservedCounter => "counter",
            Self::Histogram => "histogram",
            Self::Gauge => "gauge",
        }
    }
}

/// Who emits a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The manager.
    Manager,
    /// Every worker.
    Worker,
    /// The cleaner, while it watches.
    Cleaner,
}

impl Service {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Manager, Self::Worker, Self::Cleaner];

    /// Its name, as in `service.name` after `jobbers-`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manager => "manager",
            Self::Worker => "worker",
            Self::Cleaner => "cleaner",
        }
    }
}

/// One metric.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// Its name in OpenTelemetry.
    pub name: &'static str,
    /// What it does with numbers.
    pub kind: Kind,
    /// Its unit by UCUM; a word in braces is a count of that. Never `1`, which exporters read as a ratio. Empty for a
    /// value without one.
    pub unit: &'static str,
    /// What its series differ in.
    pub attributes: &'static [Attribute],
    /// Most series one process may have of it. What comes on top is counted in one more series, which says
    /// `otel.metric.overflow = true`.
    pub most_series: usize,
    /// The upper bounds of a histogram's buckets, in its unit; empty for other kinds.
    pub buckets: &'static [f64],
    /// Who emits it.
    pub services: &'static [Service],
    /// What it tells, in one sentence.
    pub about: &'static str,
}

impl Metric {
    /// Its name where Prometheus shows it; a histogram's series are this with `_bucket`, `_sum` and `_count`.
    #[must_use]
    pub fn prometheus_name(&self) -> String {
        let mut name = self.name.replace('.', "_");
        name.push_str(self.unit_suffix());
        if matches!(self.kind, Kind::Counter | Kind::ObservedCounter) {
            name.push_str("_total");
        }
        name
    }

    /// What Prometheus' exporters make of the unit.
    fn unit_suffix(&self) -> &'static str {
        match self.unit {
            "ms" => "_milliseconds",
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        }
    }
}

/// Finds a metric by its OpenTelemetry name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Metric> {
    ALL.iter().copied().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_names_and_attributes_of_the_original_stand_to_the_letter() {
        let letter: &[(&str, &str, &[&str])] = &[
            ("tasks_retried", "{task}", &["task", "version", "queue"]),
            ("tasks_dead_lettered", "{task}", &["task", "version", "queue"]),
            ("tasks_processed", "{task}", &["task", "queue", "status"]),
            ("execution_time", "ms", &["task", "queue", "status"]),
            ("end_to_end_latency", "ms", &["task", "queue", "status"]),
            ("time_in_queue", "ms", &["task", "queue", "role"]),
            ("tasks_selected", "{task}", &["task", "queue", "role"]),
            // The original MassTasker's.
            ("masstasker_num_tasks", "{task}", &["group"]),
        ];
        for (name, unit, attributes) in letter {
            let metric = find(name).unwrap_or_else(|| panic!("{name} is missing"));
            let keys: BTreeSet<&str> = metric.attributes.iter().map(|attribute| attribute.key).collect();
            assert_eq!((metric.unit, keys), (*unit, attributes.iter().copied().collect()), "{name}");
        }
        for metric in ALL.iter().filter(|metric| letter.iter().all(|(name, ..)| *name != metric.name)) {
            assert!(metric.name.starts_with("jobbers."), "{}", metric.name);
        }
    }

    #[test]
    fn every_row_is_whole() {
        let mut names = BTreeSet::new();
        for metric in ALL {
            let name = metric.name;
            assert!(names.insert(metric.prometheus_name()), "{name} stands twice");
            assert!(metric.unit != "1", "{name}: a unit of 1 becomes _ratio on the way to Prometheus");
            let unit = metric.unit_suffix();
            let twice = !unit.is_empty() && name.replace('.', "_").ends_with(unit);
            assert!(!twice, "{name}: some exporters say the unit once more, others do not");
            assert_eq!(metric.kind == Kind::Histogram, !metric.buckets.is_empty(), "{name}");
            assert!(metric.buckets.is_sorted_by(|a, b| a < b), "{name}");
            assert!(!metric.services.is_empty() && metric.about.ends_with('.'), "{name}");
            let bound: usize = metric.attributes.iter().map(|attribute| attribute.most_values).product();
            assert!((1..=bound).contains(&metric.most_series), "{name}: at most {bound} series are possible");
        }
    }

    #[test]
    fn times_of_tasks_are_told_apart_up_to_four_hours() {
        for name in ["execution_time", "end_to_end_latency", "time_in_queue"] {
            assert_eq!(find(name).unwrap().buckets.last(), Some(&14_400_000.0), "{name}");
        }
    }
}
