//! The format of `source/*.toml`.

use serde::Deserialize;

/// A dashboard.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dashboard {
    /// Its name, also in the browser's tab.
    pub title: String,
    /// The end of its address, `/d/jobbers-SLUG`, and the name of its file.
    pub slug: String,
    /// Which question it answers.
    pub about: String,
    /// What it can be narrowed to, beside the data source and the cluster.
    #[serde(default)]
    pub variables: Vec<Variable>,
    /// Its parts, from the top.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// What a dashboard can be narrowed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    /// Queues.
    Queue,
    /// Names of tasks, of the chosen queues.
    Task,
    /// Roles of workers.
    Role,
    /// Processes.
    Instance,
}

/// Panels under one heading.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The heading.
    pub title: String,
    /// From the left, then down.
    #[serde(rename = "panel")]
    pub panels: Vec<Panel>,
}

/// A panel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// How it is drawn.
    pub kind: Kind,
    /// What it shows.
    pub title: String,
    /// How to read it, and what to do about it.
    pub about: String,
    /// A unit of Grafana's.
    pub unit: String,
    /// Of the 24 columns.
    pub width: u32,
    /// In rows of the grid; usual for its kind when absent.
    pub height: Option<u32>,
    /// Whether the series of a [`Kind::Series`] stand on each other.
    #[serde(default)]
    pub stack: bool,
    /// The least value of its axis.
    pub min: Option<f64>,
    /// The greatest value of its axis.
    pub max: Option<f64>,
    /// From which value on which colour holds; green below the first.
    #[serde(default)]
    pub thresholds: Vec<(f64, Colour)>,
    /// Words in place of values.
    #[serde(default)]
    pub words: Vec<(f64, String, Colour)>,
    /// Where a click on a series or a cell leads to.
    #[serde(default)]
    pub leads_to: Vec<Target>,
    /// What it asks.
    #[serde(rename = "query")]
    pub queries: Vec<PanelQuery>,
}

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One present number.
    Stat,
    /// Lines over time.
    Series,
    /// How many values fell into which bucket, over time.
    Heatmap,
    /// A line per label set with its present value; each query is a column.
    Table,
}

/// A colour that says how bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    /// As it should be.
    Green,
    /// Neither good nor bad.
    Blue,
    /// Worth a look.
    Orange,
    /// Someone must repair it.
    Red,
}

impl Colour {
    /// Its name in Grafana.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Orange => "orange",
            Self::Red => "red",
        }
    }
}

/// Where a click leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The dashboard of the queue.
    Queue,
    /// The dashboard of the task.
    Task,
    /// The dashboard of dead letters, for the queue.
    DeadLetters,
    /// The queue as the manager tells it.
    QueueApi,
    /// The queue's tasks as the manager tells them.
    TasksApi,
    /// The queue's failed tasks as the manager tells them.
    FailuresApi,
    /// The workers as the manager tells them.
    WorkersApi,
}

/// What a panel asks of Prometheus.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelQuery {
    /// PromQL.
    pub expr: String,
    /// The name of its series or its column.
    #[serde(default)]
    pub legend: String,
    /// The unit of its column, where it is not the panel's.
    pub unit: Option<String>,
    /// The decimals of its column, where Grafana's choice is not good.
    pub decimals: Option<u32>,
    /// From which value on its column is coloured.
    #[serde(default)]
    pub thresholds: Vec<(f64, Colour)>,
}
