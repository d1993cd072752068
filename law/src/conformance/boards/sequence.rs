//! Random operations on boards, every answer compared with the model's.
//!
//! Revisions are dense, so the answers agree to the last number.

use std::{collections::BTreeMap, sync::Arc};

use jobbers_common::{
    engine::boards::{
        Boards, Commit, Create, ListTasks, Selection, Take, TakeOrder, Update,
        task::{BoardTime, Content, When},
    },
    name::BoardName,
    time::Clock,
};

use crate::{
    conformance::{
        boards::{BoardFixture, SECOND, group, labels, revision},
        random::Random,
    },
    model::ModelEngine,
};

/// Operations in the case that every run of the suite includes.
const STEPS: u32 = 1_200;
const GROUPS: [&str; 4] = ["", "g", "g/h", "\u{e9}\0"];
const TIMES: [i64; 6] = [i64::MIN, -1, 0, 1_000_000_000_000_000_000, i64::MAX - 1, i64::MAX];

pub async fn random_operations_on_boards_answer_as_the_model_does(f: BoardFixture) {
    run(&f, 0x00b0_a2d5, STEPS).await;
}

/// Runs `steps` random operations; the same seed gives the same ones.
///
/// # Panics
/// At the first answer that differs from the model's, naming seed and step.
pub async fn run(f: &BoardFixture, seed: u64, steps: u32) {
    let model = ModelEngine::new(Arc::clone(&f.clock) as Arc<dyn Clock>);
    let mut pair = Pair { f, model, random: Random::new(seed), at: String::new(), counters: BTreeMap::new() };
    for step in 0..steps {
        pair.at = format!("seed {seed:#x}, step {step}");
        pair.step().await;
    }
    pair.compare_everything().await;
}

struct Pair<'a> {
    f: &'a BoardFixture,
    model: ModelEngine,
    random: Random,
    at: String,
    /// The counters of the boards.
    counters: BTreeMap<BoardName, u64>,
}

impl Pair<'_> {
    async fn step(&mut self) {
        match self.random.below(100) {
            0..50 => self.commit().await,
            50..82 => self.take().await,
            82..92 => self.f.advance(self.random.below(3)),
            92..97 => self.list().await,
            _ => self.compare_everything().await,
        }
    }

    fn board(&mut self) -> BoardName {
        BoardName::new(self.random.one_of(&["one", "one", "one", "two"])).unwrap()
    }

    /// A revision that is most often stored.
    fn revision(&mut self, board: &BoardName) -> u64 {
        let counter = self.counters.get(board).copied().unwrap_or(0);
        let far = if self.random.chance(80) { 12 } else { 40 };
        let back = self.random.below(far);
        (counter + 1).saturating_sub(back)
    }

    fn revisions(&mut self, board: &BoardName, percent: u64) -> Vec<u64> {
        let mut revisions = Vec::new();
        while revisions.len() < 3 && self.random.chance(percent) {
            revisions.push(self.revision(board));
        }
        revisions
    }

    fn group(&mut self) -> String {
        self.random.one_of(&GROUPS).to_owned()
    }

    fn labels(&mut self) -> BTreeMap<String, String> {
        self.random.one_of(&[
            BTreeMap::new(),
            BTreeMap::new(),
            labels(&[("a", "1")]),
            labels(&[("a", "2")]),
            labels(&[("a", "1"), ("b", "")]),
        ])
    }

    fn selection(&mut self, board: &BoardName) -> Selection {
        match self.random.below(12) {
            0 => group(&self.group()),
            1 => Selection::AnyLabel(self.labels()),
            _ => revision(self.revision(board)),
        }
    }

    fn when(&mut self) -> When {
        match self.random.below(6) {
            0 => When::At(BoardTime(self.random.one_of(&TIMES))),
            1 => When::In(self.random.one_of(&TIMES)),
            2 => When::In(SECOND * i64::try_from(self.random.below(8)).unwrap()),
            3 => When::In(-1 - i64::try_from(self.random.below(5)).unwrap()),
            _ => When::NOW,
        }
    }

    fn content(&mut self) -> Content {
        let data = self.random.one_of(&[&b""[..], b"x", b"\0\xff\xc3"]);
        let error = self.random.one_of(&["", "failed"]).to_owned();
        let data_type = self.random.one_of(&["", "text/plain"]).to_owned();
        Content { data: data.into(), data_type, labels: self.labels(), error }
    }

    fn update(&mut self, board: &BoardName) -> Update {
        let group = self.random.chance(30).then(|| self.group());
        let at = self.random.chance(50).then(|| self.when());
        let content = self.random.chance(30).then(|| self.content());
        Update { which: self.selection(board), group, at, content }
    }

    async fn commit(&mut self) {
        let board = self.board();
        let mut commit = Commit::new(board.clone(), i64::try_from(self.random.below(3)).unwrap() - 1);
        commit.check_owner = self.random.chance(50);
        commit.require = self.revisions(&board, 15);
        commit.once = self.random.chance(5).then(|| self.random.one_of(&["m", "n", ""]).to_owned());
        while commit.delete.len() < 3 && self.random.chance(35) {
            commit.delete.push(self.selection(&board));
        }
        while commit.update.len() < 3 && self.random.chance(35) {
            let update = self.update(&board);
            commit.update.push(update);
        }
        while commit.create.len() < 4 && self.random.chance(55) {
            let (group, at, content) = (self.group(), self.when(), self.content());
            commit.create.push(Create { group, at, content });
        }
        let (a, b) = (self.model.commit(commit.clone()).await, self.f.boards.commit(commit.clone()).await);
        assert_eq!(a, b, "committed {commit:?}, {}", self.at);
    }

    async fn take(&mut self) {
        let board = self.board();
        let take = Take {
            group: self.group(),
            order: TakeOrder::FirstInFirstOut,
            owner: i64::try_from(self.random.below(3)).unwrap() - 1,
            now: self.random.chance(20).then(|| self.when().resolve(self.f.now())),
            lease: self.random.one_of(&[None, Some(0), Some(1), Some(3_000_000_000), Some(u64::MAX)]),
            require: self.revisions(&board, 10),
            board,
        };
        let (a, b) = (self.model.take(take.clone()).await, self.f.boards.take(take.clone()).await);
        assert_eq!(a, b, "taken {take:?}, {}", self.at);
        self.counters.insert(take.board, a.unwrap().revision);
    }

    async fn list(&mut self) {
        let (board, group) = (self.board(), self.group());
        let visible_only = self.random.chance(50);
        let limit = 1 + usize::try_from(self.random.below(5)).unwrap();
        let mut walks = Vec::new();
        for boards in [&self.model as &dyn Boards, &*self.f.boards] {
            let (mut tasks, mut after) = (Vec::new(), None);
            loop {
                let list = ListTasks { board: board.clone(), group: group.clone(), visible_only, after, limit };
                let page = boards.list(list).await.unwrap();
                after = page.next;
                tasks.extend(page.tasks);
                if after.is_none() {
                    walks.push((tasks, page.total));
                    break;
                }
            }
        }
        assert_eq!(walks[0], walks[1], "list of {board} {group:?} by {limit}, {}", self.at);
    }

    async fn compare_everything(&mut self) {
        for name in ["one", "two"] {
            let board = BoardName::new(name).unwrap();
            let a = self.model.groups(&board, None, 100).await;
            assert_eq!(a, self.f.boards.groups(&board, None, 100).await, "groups of {name}, {}", self.at);
            let last = self.counters.get(&board).copied().unwrap_or(0) + 20;
            let revisions: Vec<u64> = (last.saturating_sub(900)..last).collect();
            let a = self.model.get(&board, &revisions).await;
            assert_eq!(a, self.f.boards.get(&board, &revisions).await, "tasks of {name}, {}", self.at);
            let a = self.model.groups(&board, Some("g"), 1).await;
            assert_eq!(a, self.f.boards.groups(&board, Some("g"), 1).await, "a page of {name}, {}", self.at);
        }
    }
}
