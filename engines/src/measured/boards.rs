//! Calls to boards are measured like the other verbs, as `board_commit` and so on. `wait` is not. Commits, takes with a
//! lease and waits are also counted by board and by what came of them.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Result,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage,
            task::BoardTask,
        },
    },
    name::BoardName,
};

use opentelemetry::KeyValue;

use super::Measured;

impl Measured {
    fn count(&self, board: &BoardName, call: &'static str, outcome: &'static str) {
        let board = KeyValue::new("board", board.as_str().to_owned());
        self.board_calls.add(1, &[board, KeyValue::new("call", call), KeyValue::new("outcome", outcome)]);
    }
}

const fn outcome_of_commit(answer: &Result<CommitAnswer>) -> &'static str {
    match answer {
        Ok(CommitAnswer::Done(_)) => "done",
        Ok(CommitAnswer::Conflict(_)) => "conflict",
        Ok(CommitAnswer::AlreadyDone) => "repeated",
        Err(_) => "error",
    }
}

const fn outcome_of_take(answer: &Result<TakeAnswer>) -> &'static str {
    match answer {
        Ok(TakeAnswer { task: Some(_), .. }) => "hit",
        Ok(TakeAnswer { missing, .. }) if missing.is_empty() => "empty",
        Ok(_) => "conflict",
        Err(_) => "error",
    }
}

#[async_trait]
impl Boards for Measured {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        let board = commit.board.clone();
        let answer = self.measure("board_commit", &self.operations.board_commit, self.boards.commit(commit)).await;
        self.count(&board, "commit", outcome_of_commit(&answer));
        answer
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        let leased_from = take.lease.map(|_| take.board.clone());
        let answer = self.measure("board_take", &self.operations.board_take, self.boards.take(take)).await;
        if let Some(board) = leased_from {
            self.count(&board, "take", outcome_of_take(&answer));
        }
        answer
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration) {
        // Before it: a caller that goes away drops it.
        self.count(board, "wait", "begun");
        self.boards.wait(board, group, seen, timeout).await;
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        self.measure("board_get", &self.operations.board_get, self.boards.get(board, revisions)).await
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        self.measure("board_list", &self.operations.board_list, self.boards.list(list)).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        self.measure("board_groups", &self.operations.board_groups, self.boards.groups(board, after, limit)).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        self.measure("board_names", &self.operations.board_names, self.boards.boards(after, limit)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobbers_common::engine::{
        Engine as _,
        boards::{
            Create, Selection, TakeOrder,
            task::{Content, When},
        },
    };
    use jobbers_law::model::ModelEngine;
    use opentelemetry::metrics::MeterProvider;
    use opentelemetry_sdk::metrics::{
        InMemoryMetricExporter, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData},
    };

    use super::{super::tests::words, *};

    fn commit(delete: &[u64], create: usize) -> Commit {
        let task = Create { group: "g".to_owned(), at: When::NOW, content: Content::default() };
        let delete = delete.iter().copied().map(Selection::Revision).collect();
        Commit { delete, create: vec![task; create], ..Commit::new(BoardName::new("b").unwrap(), 0) }
    }

    fn take(lease: Option<u64>, require: Vec<u64>) -> Take {
        let (board, group) = (BoardName::new("b").unwrap(), "g".to_owned());
        Take { board, group, order: TakeOrder::FirstInFirstOut, owner: 0, now: None, lease, require }
    }

    #[tokio::test]
    async fn calls_to_boards_are_timed_and_counted_by_their_outcome() {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        let engine = Measured::new(Arc::new(ModelEngine::with_system_clock()), "model", &provider.meter("test"));
        let (boards, board) = (Arc::new(engine).boards(), BoardName::new("b").unwrap());
        let hour = Some(3_600_000_000_000);
        boards.commit(commit(&[], 1)).await.unwrap();
        boards.commit(commit(&[9], 0)).await.unwrap();
        boards.commit(Commit { once: Some("m".to_owned()), ..commit(&[], 0) }).await.unwrap();
        boards.commit(Commit { once: Some("m".to_owned()), ..commit(&[], 0) }).await.unwrap();
        boards.commit(commit(&[], 20_000)).await.unwrap_err();
        for (lease, require) in [(None, vec![]), (hour, vec![9]), (hour, vec![]), (hour, vec![])] {
            boards.take(take(lease, require)).await.unwrap();
        }
        boards.wait(&board, "g", 0, Duration::ZERO).await;
        boards.get(&board, &[1]).await.unwrap();
        boards.boards(None, 1).await.unwrap();
        provider.force_flush().unwrap();

        let (mut timed, mut counted) = (Vec::new(), Vec::new());
        for resource in exporter.get_finished_metrics().unwrap() {
            for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
                match metric.data() {
                    AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                        let points = histogram.data_points().filter(|point| point.count() > 0);
                        timed.extend(points.map(|point| (words(point.attributes()), point.count())));
                    }
                    AggregatedMetrics::U64(MetricData::Sum(sum)) if metric.name() == "jobbers.board.calls" => {
                        counted.extend(sum.data_points().map(|point| (words(point.attributes()), point.value())));
                    }
                    AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                        let failed: Vec<_> = sum.data_points().map(|point| words(point.attributes())).collect();
                        assert_eq!(failed, ["model invalid board_commit"]);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        timed.sort();
        counted.sort();
        let calls = [("board_commit", 5), ("board_get", 1), ("board_names", 1), ("board_take", 4)];
        assert_eq!(timed, calls.map(|(call, times)| (format!("model {call}"), times)));
        let outcomes = [
            ("commit conflict", 1),
            ("commit done", 2),
            ("commit error", 1),
            ("commit repeated", 1),
            ("take conflict", 1),
            ("take empty", 1),
            ("take hit", 1),
            ("wait begun", 1),
        ];
        assert_eq!(counted, outcomes.map(|(outcome, times)| (format!("b {outcome}"), times)));
    }
}
