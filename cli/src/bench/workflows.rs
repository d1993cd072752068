//! Workflows: what edges between tasks cost a worker and a store with the settings that ship.
//!
//! Each figure is set against the same work without edges, or against a task that comes alone, of the same round. Of the
//! graphs, [`graph`] says which task waits for which, and [`stage`] how they are run and how the times are taken;
//! [`fan_out`] measures single calls and comes first, while nothing else uses the store.

mod fan_out;
mod graph;
mod stage;

use anyhow::Result;
use serde::Serialize;

use self::{graph::BenchGraph, stage::Stage};
use super::{
    figures::{Rate, Span, Spread, as_f64},
    profile::BuildProfile,
    report::{Row, fact, heading, rate, span, with_range},
    store::BenchStore,
};
use crate::terminal::output::thousands;

/// How much is measured.
struct Size {
    rounds: usize,
    /// Tasks without edges, members of the chord, successors of the wide fan-out, tasks of the layered graph; half as many
    /// pairs.
    tasks: usize,
    /// Tasks of a layer.
    width: usize,
    chain: usize,
    latencies: usize,
}

/// The figures of one round.
struct Round {
    /// Tasks per second without edges, and the store's processor time for one, in microseconds.
    plain: (f64, f64),
    /// The same of tasks that have a successor each.
    pairs: (f64, f64),
    chord: f64,
    collected_ms: f64,
    longest_call_ms: f64,
    step_ms: f64,
    idle_ms: f64,
    /// The graph of divisors, and as many steps of the chain as its longest path has.
    divisors_ms: (f64, f64),
    layered: f64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowsReport {
    /// `sqlite` or `redis`.
    pub engine: String,
    /// How the program was built.
    pub build: BuildProfile,
    /// How many rounds each figure is the middle of.
    pub rounds: usize,
    /// Tasks of the large graphs.
    pub tasks: usize,
    /// Tasks of the chain.
    pub chain: usize,
    /// The time a task takes of a drain when a successor waits for it; the limit is that of a task without one.
    pub settling: Span,
    /// The store's processor time for such a task, and for one without a successor.
    pub store_settling: Span,
    /// From the end of the chord's last member to the claim of its collector, in milliseconds.
    pub collected_ms: Spread,
    /// The drain of the chord; the limit is that of tasks without edges.
    pub fan_in: Rate,
    /// The longest call while the successors of one task are released, in milliseconds.
    pub longest_call_ms: Spread,
    /// A task of the chain, from the claim of the one before it to its own; the limit is the idle latency of one task.
    pub step: Span,
    /// 63 tasks, each after those of its divisors; the limit is as many steps of the chain as the longest path has.
    pub divisors: Span,
    /// The drain of a random layered graph; the limit is that of tasks without edges.
    pub layered: Rate,
}

/// Measures.
///
/// # Errors
/// When a process can't be had, or a graph does not run as it should.
pub(super) async fn measure(store: &BenchStore, quick: bool) -> Result<WorkflowsReport> {
    let size = match quick {
        false => Size { rounds: 3, tasks: 100_000, width: 1_000, chain: 10_000, latencies: 200 },
        true => Size { rounds: 1, tasks: 2_000, width: 100, chain: 100, latencies: 20 },
    };
    let mut longest = Vec::with_capacity(size.rounds);
    for round in 0..size.rounds {
        longest.push(fan_out::longest_call_ms(store, size.tasks, &format!("fan-out-{round}")).await?);
    }
    let stage = Stage::start(store).await?;
    // What is done for the first time is slower than it will be.
    stage.run(&BenchGraph::plain(size.tasks / 10), "warming").await?;
    let mut rounds = Vec::with_capacity(size.rounds);
    for (number, longest_call_ms) in longest.into_iter().enumerate() {
        rounds.push(Round { longest_call_ms, ..round(&stage, &size, number).await? });
    }
    stage.stop().await?;
    let engine = store.scratch.engine.health().await?.engine.to_owned();
    Ok(WorkflowsReport::new(engine, &size, &rounds))
}

async fn round(stage: &Stage<'_>, size: &Size, number: usize) -> Result<Round> {
    let run = async |graph: &BenchGraph, name: &str| stage.run(graph, &format!("{name}-{number}")).await;
    let plain = run(&BenchGraph::plain(size.tasks), "plain").await?;
    let pairs = run(&BenchGraph::pairs(size.tasks / 2), "pairs").await?;
    let chord = run(&BenchGraph::chord(size.tasks), "chord").await?;
    let layered = run(&BenchGraph::layered(size.tasks, size.width), "layered").await?;
    let idle_ms = stage.idle_latency_ms(size.latencies).await?;
    let step_ms = run(&BenchGraph::chain(size.chain), "chain").await?.whole_ms() / as_f64(size.chain);
    let divisors = BenchGraph::divisors();
    let divisors_ms = run(&divisors, "divisors").await?.whole_ms();
    Ok(Round {
        plain: (plain.rate(), plain.store_us),
        pairs: (pairs.rate(), pairs.store_us),
        chord: chord.rate(),
        collected_ms: chord.collected_ms(size.tasks),
        longest_call_ms: 0.0,
        step_ms,
        idle_ms,
        divisors_ms: (divisors_ms, step_ms * as_f64(divisors.depth())),
        layered: layered.rate(),
    })
}

impl WorkflowsReport {
    fn new(engine: String, size: &Size, rounds: &[Round]) -> Self {
        let spread = |figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(figure).collect(), 2);
        let rate = |pair: fn(&Round) -> (f64, f64)| Rate::of(rounds.iter().map(pair));
        let span = |pair: fn(&Round) -> (f64, f64)| Span::of(rounds.iter().map(pair));
        Self {
            engine,
            build: BuildProfile::own(),
            rounds: rounds.len(),
            tasks: size.tasks,
            chain: size.chain,
            settling: span(|round| (1e3 / round.pairs.0, 1e3 / round.plain.0)),
            store_settling: span(|round| (round.pairs.1 / 1e3, round.plain.1 / 1e3)),
            collected_ms: spread(|round| round.collected_ms),
            fan_in: rate(|round| (round.chord, round.plain.0)),
            longest_call_ms: spread(|round| round.longest_call_ms),
            step: span(|round| (round.step_ms, round.idle_ms)),
            divisors: span(|round| round.divisors_ms),
            layered: rate(|round| (round.layered, round.plain.0)),
        }
    }

    /// The line above the table: what was measured, and how.
    #[must_use]
    pub fn heading(&self) -> String {
        let what = format!("graphs of {} no-op tasks", thousands(self.tasks as u64));
        heading(&self.engine, &self.build, &what, self.rounds)
    }

    /// The table.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        const WITHOUT: &str = "as many tasks without edges";
        let millis = |Spread { median, min, max }| with_range(format!("{median:.2} ms"), min, max, 2);
        vec![
            span("a task with a successor, in a drain", "the same without", self.settling),
            span("store CPU for a task with a successor", "the same without", self.store_settling),
            rate("chord: drain of its members", WITHOUT, self.fan_in),
            fact("chord: last member's end to the collector's claim", millis(self.collected_ms)),
            fact("wide fan-out: longest call of its release", millis(self.longest_call_ms)),
            span("chain: a step", "idle latency p50 of one task", self.step),
            span("63 divisors, from claim to end", "its longest path in steps of the chain", self.divisors),
            rate("random layered graph", WITHOUT, self.layered),
        ]
    }
}
