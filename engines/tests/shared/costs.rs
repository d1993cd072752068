//! What verbs cost, as a table, and how it is judged.

use std::fmt::Write as _;

use super::Size;

/// How often each verb is asked.
pub(super) const TIMES: usize = 5;

/// What a call cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// What is held to the bound, in the meter's unit.
    pub(crate) judged: u64,
    /// The whole call, in microseconds of CPU time: shown, and not judged.
    pub(crate) whole: u64,
}

/// An engine's own measure of a call.
pub(crate) trait Meter {
    /// Begins to measure.
    async fn begin(&mut self);
    /// The cost of what has happened since.
    async fn cost(&mut self) -> Cost;
    /// How many pieces of a walk may be measured together, as it finds the costliest of them.
    fn pieces_at_once(&self) -> usize {
        1
    }
    /// Whether the piece of an audit at a cursor runs beside all other verbs, and so has no bound.
    fn is_beside(&self, _cursor: Option<&str>) -> bool {
        false
    }
}

/// What each verb cost, in the order asked.
#[derive(Debug, Default)]
pub(crate) struct Costs(pub(super) Vec<(&'static str, Vec<Cost>)>);

/// What verbs are held to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// What a call may cost, in `unit`.
    pub(crate) most: u64,
    /// How many times as much, or as little, a correct measure may show: 1 for a count.
    pub(crate) slack: u64,
    /// What is counted.
    pub(crate) unit: &'static str,
}

/// A verb that does not keep to its bound yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Over {
    /// Its name in the table.
    pub(crate) verb: &'static str,
    /// From how many finished tasks on.
    pub(crate) from: usize,
    /// What takes so long.
    pub(crate) why: &'static str,
}

impl Over {
    pub(crate) const fn new(verb: &'static str, from: usize, why: &'static str) -> Self {
        Self { verb, from, why }
    }
}

impl Costs {
    /// Asks a verb some times.
    pub(super) async fn measure(
        &mut self,
        meter: &mut impl Meter,
        verb: &'static str,
        mut call: impl AsyncFnMut(usize),
    ) {
        let mut costs = Vec::new();
        for n in 0..TIMES {
            meter.begin().await;
            call(n).await;
            costs.push(meter.cost().await);
        }
        costs.sort_unstable();
        self.0.push((verb, costs));
    }

    /// Prints the table, then judges by the second fastest call, since a loaded machine only makes calls slower: a verb
    /// that is not listed keeps to the bound, and one that is listed does not keep to a third of it; both within the slack.
    #[expect(clippy::print_stdout, reason = "the table is what the test is run for")]
    pub(crate) fn judge(&self, size: Size, Bound { most: bound, slack, unit }: Bound, over: &[Over]) {
        let [verb, least, judged, most, cpu] = ["verb", "least", "judged", "most", "CPU us"];
        let mut table =
            format!("{size:?}, bound {bound} {unit}\n{verb:<34}{least:>10}{judged:>10}{most:>10}{cpu:>10}\n");
        let (mut broken, mut held) = (Vec::new(), Vec::new());
        for (verb, costs) in &self.0 {
            let (least, most) = (costs[0], costs[costs.len() - 1]);
            let listed = over.iter().find(|over| over.verb == *verb && over.from <= size.finished);
            let remark = listed.map(|over| format!("  listed: {}", over.why)).unwrap_or_default();
            let Cost { judged, whole } = costs[1.min(costs.len() - 1)];
            writeln!(table, "{verb:<34}{:>10}{judged:>10}{:>10}{whole:>10}{remark}", least.judged, most.judged)
                .unwrap();
            match listed {
                None if judged > bound * slack => broken.push(*verb),
                Some(_) if judged * slack <= bound / 3 => held.push(*verb),
                _ => {}
            }
        }
        println!("{table}");
        let measured = |over: &&Over| self.0.iter().any(|(verb, _)| *verb == over.verb);
        let unknown: Vec<_> = over.iter().filter(|over| !measured(over)).collect();
        assert!(unknown.is_empty(), "listed and not measured: {unknown:?}");
        assert!(broken.is_empty(), "over the bound of {bound} {unit}: {broken:?}\n{table}");
        assert!(held.is_empty(), "within a third of the bound, so to be taken off the list: {held:?}\n{table}");
    }
}
