//! Gauges of boards: how many tasks their groups hold, and for how long the first of each has been visible.

use std::{collections::BTreeMap, time::Duration};

use jobbers_boards::masstasker;
use jobbers_common::{
    engine::{
        Result,
        boards::{BoardCount, Boards, Take, TakeOrder, task::BoardTime},
    },
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{BOARD_OLDEST_AGE, BOARD_REVISIONS, BOARD_TASKS, MASSTASKER_NUM_TASKS},
    },
    name::BoardName,
};
use opentelemetry::{KeyValue, metrics::Meter};

use super::latest::LatestLook;

/// Boards whose numbers are read, the first by name.
const MOST_BOARDS: usize = 50;
/// Groups of all boards that have a series, the first by name; the others of a board are one series together.
const MOST_GROUPS: usize = MOST_NAMES - MOST_BOARDS;
/// Groups whose first task is looked up.
const MOST_AGES: usize = 100;

/// A board and a group of it.
type BoardGroup = (BoardName, String);

/// One reading of the boards.
#[derive(Debug, Clone, Default)]
pub(super) struct BoardReading {
    boards: Vec<BoardCount>,
    groups: BTreeMap<BoardGroup, u64>,
    /// How many tasks of a board are in groups without a series.
    others: BTreeMap<BoardName, u64>,
    ages: BTreeMap<BoardGroup, Duration>,
}

impl BoardReading {
    /// Reads the boards. Groups that held tasks before stay, with 0, so that it is seen that they were emptied.
    pub(super) async fn read(boards: &dyn Boards, before: Option<&Self>) -> Result<Self> {
        let mut reading = Self { boards: boards.boards(None, MOST_BOARDS).await?, ..Self::default() };
        for BoardCount { board, tasks, .. } in &reading.boards {
            let room = MOST_GROUPS - reading.groups.len();
            let page = if room == 0 { Vec::new() } else { boards.groups(board, None, room).await? };
            let (is_whole, listed) = (page.len() < room, page.iter().map(|group| group.tasks).sum::<u64>());
            reading.groups.extend(page.into_iter().map(|group| ((board.clone(), group.group), group.tasks)));
            if !is_whole {
                reading.others.insert(board.clone(), tasks.saturating_sub(listed));
            }
        }
        for (group, tasks) in reading.groups.iter().take(MOST_AGES) {
            let age = if *tasks == 0 { Duration::ZERO } else { age_of_first(boards, group).await? };
            reading.ages.insert(group.clone(), age);
        }
        for group in before.into_iter().flat_map(|before| before.groups.keys()) {
            if reading.groups.len() < MOST_GROUPS && !reading.others.contains_key(&group.0) {
                reading.groups.entry(group.clone()).or_default();
            }
        }
        Ok(reading)
    }
}

/// For how long the first task of a group has been visible.
async fn age_of_first(boards: &dyn Boards, (board, group): &BoardGroup) -> Result<Duration> {
    let peek = Take {
        board: board.clone(),
        group: group.clone(),
        order: TakeOrder::FirstInFirstOut,
        owner: 0,
        now: None,
        lease: None,
        require: Vec::new(),
    };
    let found = boards.take(peek).await?;
    Ok(found.task.map_or(Duration::ZERO, |task| between(task.at, found.now)))
}

/// Zero for a point that lies ahead.
fn between(at: BoardTime, now: BoardTime) -> Duration {
    Duration::from_nanos(u64::try_from(now.0.saturating_sub(at.0)).unwrap_or(0))
}

fn board_of(board: &BoardName) -> KeyValue {
    KeyValue::new("board", board.as_str().to_owned())
}

fn group_of(group: &str) -> KeyValue {
    KeyValue::new("group", group.to_owned())
}

/// Registers the gauges.
pub(super) fn observe(boards: &LatestLook<BoardReading>, meter: &Meter) {
    BOARD_TASKS.gauge(
        meter,
        boards.observer(|boards, gauge| {
            for ((board, group), tasks) in &boards.groups {
                gauge.observe(*tasks as f64, &[board_of(board), group_of(group)]);
            }
            for (board, tasks) in &boards.others {
                gauge.observe(*tasks as f64, &[board_of(board), group_of(OTHER)]);
            }
        }),
    );
    MASSTASKER_NUM_TASKS.gauge(
        meter,
        boards.observer(|boards, gauge| {
            let of_front = |board: &BoardName| board.as_str() == masstasker::BOARD;
            for ((_, group), tasks) in boards.groups.iter().filter(|((board, _), _)| of_front(board)) {
                gauge.observe(*tasks as f64, &[group_of(group)]);
            }
            for (_, tasks) in boards.others.iter().filter(|(board, _)| of_front(board)) {
                gauge.observe(*tasks as f64, &[group_of(OTHER)]);
            }
        }),
    );
    BOARD_OLDEST_AGE.gauge(
        meter,
        boards.observer(|boards, gauge| {
            for ((board, group), age) in &boards.ages {
                gauge.observe(age.as_secs_f64(), &[board_of(board), group_of(group)]);
            }
        }),
    );
    BOARD_REVISIONS.observed_counter(
        meter,
        boards.observer(|boards, counter| {
            for BoardCount { board, revision, .. } in &boards.boards {
                counter.observe(*revision as f64, &[board_of(board)]);
            }
        }),
    );
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        engine::boards::{
            Commit, Create, Selection,
            task::{Content, When},
        },
        time::{ManualClock, Timestamp},
    };
    use jobbers_law::model::ModelEngine;

    use super::*;

    fn named(name: &str) -> BoardName {
        BoardName::new(name).unwrap()
    }

    fn create(group: impl Into<String>, at: When) -> Create {
        Create { group: group.into(), at, content: Content::default() }
    }

    async fn put(boards: &dyn Boards, board: &str, create: Vec<Create>) {
        boards.commit(Commit { create, ..Commit::new(named(board), 0) }).await.unwrap();
    }

    #[tokio::test]
    async fn groups_are_counted_and_an_emptied_one_stays_at_0() {
        let clock = std::sync::Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000)));
        let boards = ModelEngine::new(clock.clone());
        let hidden = create("hidden", When::In(i64::MAX / 2));
        put(&boards, "b", vec![create("g", When::NOW), create("g", When::NOW), hidden]).await;
        clock.advance(Duration::from_secs(3));
        let first = BoardReading::read(&boards, None).await.unwrap();
        let group = |name: &str| (named("b"), name.to_owned());
        assert_eq!((first.groups[&group("g")], first.groups[&group("hidden")]), (2, 1));
        assert_eq!((first.ages[&group("g")], first.ages[&group("hidden")]), (Duration::from_secs(3), Duration::ZERO));
        assert_eq!((first.boards[0].revision, first.others.len()), (3, 0));
        let delete = vec![Selection::Group("g".to_owned())];
        boards.commit(Commit { delete, ..Commit::new(named("b"), 0) }).await.unwrap();
        let second = BoardReading::read(&boards, Some(&first)).await.unwrap();
        assert_eq!((second.groups[&group("g")], second.groups[&group("hidden")]), (0, 1));
    }

    #[tokio::test]
    async fn groups_past_the_bound_are_counted_together() {
        let boards = ModelEngine::with_system_clock();
        put(&boards, "a", vec![create("g", When::NOW); 2]).await;
        put(&boards, "b", (0..MOST_GROUPS + 10).map(|n| create(format!("{n:04}"), When::NOW)).collect()).await;
        put(&boards, "c", vec![create("g", When::NOW); 5]).await;
        let reading = BoardReading::read(&boards, None).await.unwrap();
        assert_eq!(reading.groups.len(), MOST_GROUPS);
        assert_eq!(reading.others, BTreeMap::from([(named("b"), 11), (named("c"), 5)]));
        let again = BoardReading::read(&boards, Some(&reading)).await.unwrap();
        assert_eq!((again.groups, again.ages.len()), (reading.groups, MOST_AGES));
    }
}
