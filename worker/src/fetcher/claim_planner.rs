//! Plans which queues to claim from, and how many tasks from each.
//!
//! It follows the role's queues and limits of the live configuration, and this worker's own limits. Running tasks are
//! counted for every queue, so that a limit that is set later applies at once.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use jobbers_common::{
    engine::{QueueClaim, Refusal},
    limits::MAX_QUEUES_PER_CLAIM,
    name::{QueueName, RoleName},
    queue::{Config as StoreConfig, DEFAULT_PATIENCE, QueueConfig, QueueOrder, pattern::ServedQueues},
    worker::task_kind::TaskKind,
};

/// How many more tasks the worker can take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// In total.
    pub(crate) most: usize,
    /// Tasks that can start at once. Blocking tasks, and queues whose starts the store limits, are claimed only up to
    /// this.
    pub(crate) at_once: usize,
    /// Blocking tasks; `None` if the program has no blocking task.
    pub(crate) blocking: Option<usize>,
    /// Whether the claim refuses the known kinds of blocking tasks. Then the queues that contain them are asked for the
    /// other tasks.
    pub(crate) refuses_blocking: bool,
}

/// What a worker may claim.
#[derive(Debug)]
pub(crate) struct ClaimPlanner {
    role: RoleName,
    own_limits: BTreeMap<QueueName, usize>,
    served: Vec<Served>,
    /// Whether the role's patterns match more queues than a claim may name.
    is_cut: bool,
    /// Tasks of each queue that run or are being claimed.
    taken: HashMap<QueueName, usize>,
    /// Whether the last claim from each queue contained blocking tasks.
    heavy: HashMap<QueueName, bool>,
    /// The kinds of blocking tasks seen in the queues.
    blocking: BTreeSet<Refusal>,
    /// The version of the configuration this follows.
    pub(crate) version: u64,
}

#[derive(Debug)]
struct Served {
    queue: QueueName,
    limit: Option<usize>,
    /// How often it is asked first, relative to the others; `None` in strict order.
    weight: Option<u32>,
    /// Whether the store limits how many of its tasks start. A task waiting here would hold a slot that others could
    /// use.
    is_limited: bool,
    /// Its credit; the queue with the most is asked first (smooth weighted round robin).
    credit: i64,
    /// How long its tasks may be given back as unknown.
    patience: Duration,
}

impl Served {
    /// Compares everything except the credit.
    fn is_like(&self, other: &Self) -> bool {
        let facts = |it: &Self| (it.limit, it.weight, it.patience, it.is_limited);
        self.queue == other.queue && facts(self) == facts(other)
    }
}

impl ClaimPlanner {
    pub(crate) fn new(role: RoleName, own_limits: BTreeMap<QueueName, usize>) -> Self {
        Self {
            role,
            own_limits,
            served: Vec::new(),
            is_cut: false,
            taken: HashMap::new(),
            heavy: HashMap::new(),
            blocking: BTreeSet::new(),
            version: 0,
        }
    }

    /// Follows a configuration. Returns whether the role's queues changed.
    pub(crate) fn follow(&mut self, config: &StoreConfig) -> bool {
        let first = self.version == 0;
        self.version = config.version;
        let Some(role) = config.roles.get(&self.role) else {
            if first || !self.served.is_empty() {
                tracing::warn!(role = %self.role, "the role does not exist; waiting until it is created");
            }
            self.served.clear();
            return true;
        };
        let ServedQueues { queues, is_cut } = config.served_by(role);
        if is_cut && !self.is_cut {
            tracing::warn!(role = %self.role, "the role's patterns match more than {MAX_QUEUES_PER_CLAIM} queues: the last ones are not served");
        }
        self.is_cut = is_cut;
        let serve = |queue: &QueueName| {
            let settings = config.queues.get(queue).map(|settings| &**settings);
            let patience = settings.map_or(DEFAULT_PATIENCE, |queue| queue.patience);
            let theirs = settings.and_then(|queue| queue.max_per_worker);
            let theirs = theirs.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
            let ours = self.own_limits.get(queue).copied();
            let limit = theirs.into_iter().chain(ours).min();
            let weight = (role.order == QueueOrder::Weighted).then(|| role.weight(queue));
            let is_limited = settings.is_some_and(limits_starts);
            Served { queue: queue.clone(), limit, weight, credit: 0, patience, is_limited }
        };
        let served: Vec<Served> = queues.iter().map(serve).collect();
        let same = served.len() == self.served.len() && served.iter().zip(&self.served).all(|(a, b)| a.is_like(b));
        if !first && same {
            return false;
        }
        let queues: Vec<&str> = queues.iter().map(QueueName::as_str).collect();
        tracing::info!(role = %self.role, ?queues, order = ?role.order, "serving");
        self.served = served;
        true
    }

    /// The queues served, in order.
    pub(crate) fn queues(&self) -> Vec<QueueName> {
        self.served.iter().map(|served| served.queue.clone()).collect()
    }

    /// How many queues are served.
    pub(crate) const fn count(&self) -> usize {
        self.served.len()
    }

    /// Plans a claim. Each queue is asked for no more than its limit allows. A queue with blocking tasks is asked for
    /// no more than the blocking queue takes; if that is not known yet, for at least one task unless some are on their
    /// way. Requested tasks count as taken until they are [answered](ClaimPlanner::answered). Skips the queues `left`
    /// to other workers.
    pub(crate) fn ask(&mut self, room: Room, left: &[QueueName]) -> Vec<QueueClaim> {
        let Room { most, at_once, blocking: blocking_room, refuses_blocking } = room;
        let mut claims = Vec::with_capacity(self.served.len());
        for at in self.take_turns() {
            let Served { queue, limit, is_limited, .. } = &self.served[at];
            let is_limited = *is_limited;
            if left.contains(queue) {
                continue;
            }
            let taken = self.taken.entry(queue.clone()).or_default();
            let room = match (blocking_room, self.heavy.get(queue)) {
                (None, _) | (_, Some(false)) if !is_limited => most,
                (None, _) | (_, Some(false)) => at_once,
                (Some(_), Some(true)) if refuses_blocking => at_once,
                (Some(blocking_room), None) if *taken == 0 => at_once.min(blocking_room.max(1)),
                (Some(blocking_room), Some(true) | None) => at_once.min(blocking_room),
            };
            let left = limit.map_or(room, |most| most.saturating_sub(*taken).min(room));
            if left > 0 {
                *taken += left;
                claims.push(QueueClaim { queue: queue.clone(), limit: left });
            }
        }
        claims
    }

    /// How many of the requested tasks may be blocking, and how many are requested in total.
    pub(crate) fn count_blocking(&self, asked: &[QueueClaim], room: usize) -> (usize, usize) {
        let (heavy, light): (Vec<_>, Vec<_>) =
            asked.iter().partition(|claim| self.heavy.get(&claim.queue) != Some(&false));
        let blocking = heavy.iter().map(|claim| claim.limit).max().unwrap_or(0);
        (blocking, if light.is_empty() { blocking } else { room })
    }

    /// Learns from a claim's result which queues contain blocking tasks, and of which kinds.
    pub(crate) fn learn<'a>(&mut self, brought: impl Iterator<Item = (&'a QueueName, Option<TaskKind>)>) {
        let mut heavy: HashMap<&QueueName, bool> = HashMap::new();
        for (queue, blocking) in brought {
            *heavy.entry(queue).or_default() |= blocking.is_some();
            if let Some(kind) = blocking {
                self.blocking.insert(Refusal { queue: queue.clone(), kind });
            }
        }
        self.heavy.extend(heavy.into_iter().map(|(queue, is_heavy)| (queue.clone(), is_heavy)));
    }

    /// The kinds of blocking tasks seen in the queues, to refuse while the blocking queue is full; `None` if a claim
    /// has no room for them.
    pub(crate) fn refusals(&self, room: usize) -> Option<impl Iterator<Item = Refusal>> {
        (self.blocking.len() <= room).then(|| self.blocking.iter().cloned())
    }

    /// The order of this claim, as indexes of `served`. In a weighted role, the queue with the most credit comes first
    /// and then pays the sum of all weights. So over as many claims as that sum, each queue is first as often as its
    /// weight.
    fn take_turns(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.served.len()).collect();
        let total: i64 = self.served.iter().filter_map(|served| served.weight).map(i64::from).sum();
        if total > 0 {
            for served in &mut self.served {
                served.credit += served.weight.map_or(0, i64::from);
            }
            order.sort_by_key(|at| Reverse(self.served[*at].credit));
            self.served[order[0]].credit -= total;
        }
        order
    }

    /// Frees the requested tasks that were not received. `given` names the queue of each task that runs now.
    pub(crate) fn answered<'a>(&mut self, asked: &[QueueClaim], given: impl Iterator<Item = &'a QueueName>) {
        for claim in asked {
            self.free(&claim.queue, claim.limit);
        }
        for queue in given {
            if let Some(taken) = self.taken.get_mut(queue) {
                *taken += 1;
            }
        }
    }

    /// How long a queue's tasks may be given back as unknown.
    pub(crate) fn patience(&self, queue: &QueueName) -> Duration {
        let served = self.served.iter().find(|served| served.queue == *queue);
        served.map_or(DEFAULT_PATIENCE, |served| served.patience)
    }

    /// Counts tasks of a queue as ended.
    pub(crate) fn free(&mut self, queue: &QueueName, tasks: usize) {
        if let Some(taken) = self.taken.get_mut(queue) {
            *taken = taken.saturating_sub(tasks);
        }
    }
}

/// Whether the store limits how many tasks of a queue start.
fn limits_starts(queue: &QueueConfig) -> bool {
    queue.max_concurrent.is_some() || queue.rate_limit.is_some() || queue.is_gated()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobbers_common::{
        name::TaskName,
        queue::{QueueConfig, RoleConfig},
    };

    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn config(version: u64, max_per_worker: Option<u32>) -> StoreConfig {
        let mut config = StoreConfig::initial();
        config.version = version;
        let heavy = QueueConfig { max_per_worker, ..QueueConfig::new(queue("heavy")) };
        config.queues.insert(queue("heavy"), heavy.into());
        let role = RoleName::new("default").unwrap();
        config.roles.insert(role.clone(), RoleConfig::new(role, vec![queue("heavy"), queue("default")]));
        config
    }

    fn room(tasks: usize) -> Room {
        Room { most: tasks, at_once: tasks, blocking: None, refuses_blocking: false }
    }

    fn limits(claims: &[QueueClaim]) -> Vec<(&str, usize)> {
        claims.iter().map(|claim| (claim.queue.as_str(), claim.limit)).collect()
    }

    #[test]
    fn a_queue_is_asked_for_no_more_than_its_limit_leaves() {
        let mut planner = ClaimPlanner::new(RoleName::new("default").unwrap(), BTreeMap::from([(queue("heavy"), 2)]));
        assert!(planner.follow(&config(1, Some(5))));
        let asked = planner.ask(room(10), &[]);
        assert_eq!(limits(&asked), [("heavy", 2), ("default", 10)]);
        assert_eq!(limits(&planner.ask(room(10), &[])), [("default", 10)], "what is on its way counts");
        planner.answered(&asked, [queue("heavy")].iter());
        assert_eq!(limits(&planner.ask(room(1), &[queue("default")])), [("heavy", 1)], "the rest is left to others");
    }

    #[test]
    fn a_limit_that_appears_later_counts_what_runs_already() {
        let mut planner = ClaimPlanner::new(RoleName::new("default").unwrap(), BTreeMap::new());
        planner.follow(&config(1, None));
        let asked = planner.ask(room(3), &[]);
        planner.answered(&asked, [queue("heavy"), queue("heavy"), queue("heavy")].iter());
        assert!(planner.follow(&config(2, Some(2))));
        assert_eq!(limits(&planner.ask(room(4), &[])), [("default", 4)]);
        planner.free(&queue("heavy"), 2);
        assert_eq!(limits(&planner.ask(room(4), &[])), [("heavy", 1), ("default", 4)]);
    }

    #[test]
    fn a_weighted_role_asks_each_queue_first_as_often_as_its_weight_says() {
        let mut weighted = config(1, None);
        for role in weighted.roles.values_mut() {
            (role.order, role.weights) = (QueueOrder::Weighted, [(queue("heavy").into(), 3)].into());
        }
        let mut planner = ClaimPlanner::new(RoleName::new("default").unwrap(), BTreeMap::new());
        planner.follow(&weighted);
        let firsts: Vec<String> = (0..8)
            .map(|_| {
                let asked = planner.ask(room(1), &[]);
                planner.answered(&asked, std::iter::empty());
                assert_eq!(asked.len(), 2, "every queue is asked each time");
                asked[0].queue.to_string()
            })
            .collect();
        assert_eq!(firsts.iter().filter(|first| *first == "heavy").count(), 6, "{firsts:?}");
        assert!(firsts[..4].contains(&"default".to_owned()) && firsts[4..].contains(&"default".to_owned()));
        assert!(!planner.follow(&weighted), "the order of a claim is no change of the role");
    }

    #[test]
    fn a_queue_that_may_bring_blocking_tasks_is_asked_for_what_the_blocking_queue_takes() {
        let mut planner = ClaimPlanner::new(RoleName::new("default").unwrap(), BTreeMap::new());
        planner.follow(&config(1, None));
        let ask = |planner: &mut ClaimPlanner, blocking_room| {
            let asked = planner.ask(Room { blocking: Some(blocking_room), ..room(10) }, &[]);
            planner.answered(&asked, std::iter::empty());
            let weight = planner.count_blocking(&asked, 10);
            (limits(&asked).iter().map(|(queue, limit)| format!("{queue} {limit}")).collect::<Vec<_>>(), weight)
        };
        assert_eq!(ask(&mut planner, 4), (vec!["heavy 4".into(), "default 4".into()], (4, 4)), "nothing is known yet");
        assert_eq!(ask(&mut planner, 0), (vec!["heavy 1".into(), "default 1".into()], (1, 1)));
        let (heavy, default) = (queue("heavy"), queue("default"));
        let on_their_way = planner.ask(Room { blocking: Some(4), ..room(10) }, &[]);
        assert_eq!(ask(&mut planner, 0), (vec![], (0, 0)), "what comes will tell");
        planner.answered(&on_their_way, std::iter::empty());
        let kind = || Some(TaskKind { name: TaskName::new("grind").unwrap(), version: 1 });
        planner.learn([(&heavy, kind()), (&heavy, None), (&default, None)].into_iter());
        assert_eq!(ask(&mut planner, 4), (vec!["heavy 4".into(), "default 10".into()], (4, 10)));
        assert_eq!(
            ask(&mut planner, 0),
            (vec!["default 10".into()], (0, 10)),
            "a full blocking queue does not hold up other tasks"
        );
        let refused: Vec<Refusal> = planner.refusals(1).unwrap().collect();
        assert_eq!(refused, [Refusal { queue: heavy.clone(), kind: kind().unwrap() }]);
        assert!(planner.refusals(0).is_none(), "no room for it");
        let full = Room { blocking: Some(0), refuses_blocking: true, ..room(10) };
        let asked = planner.ask(full, &[]);
        assert_eq!(limits(&asked), [("heavy", 10), ("default", 10)], "what it brings beside them");
        planner.answered(&asked, std::iter::empty());
        planner.learn([(&heavy, None), (&default, None), (&default, kind())].into_iter());
        assert_eq!(ask(&mut planner, 0), (vec!["heavy 10".into()], (0, 10)));
    }

    #[test]
    fn only_unlimited_queues_without_blocking_tasks_are_asked_for_more_than_can_start() {
        let ahead = Room { most: 10, at_once: 3, blocking: None, refuses_blocking: false };
        let mut limited = config(1, None);
        let heavy = QueueConfig { max_concurrent: Some(100), ..QueueConfig::new(queue("heavy")) };
        limited.queues.insert(queue("heavy"), heavy.into());
        let mut planner = ClaimPlanner::new(RoleName::new("default").unwrap(), BTreeMap::new());
        planner.follow(&limited);
        let ask = |planner: &mut ClaimPlanner, ahead| {
            let asked = planner.ask(ahead, &[]);
            planner.answered(&asked, std::iter::empty());
            asked.iter().map(|claim| claim.limit).collect::<Vec<_>>()
        };
        assert_eq!(ask(&mut planner, ahead), [3, 10], "a place of max_concurrent is not for a task that waits");
        let with_blocking = Room { blocking: Some(50), ..ahead };
        assert_eq!(ask(&mut planner, with_blocking), [3, 3], "any may bring blocking tasks");
        planner.learn([(&queue("heavy"), None), (&queue("default"), None)].into_iter());
        assert_eq!(ask(&mut planner, with_blocking), [3, 10]);
        let kind = TaskKind { name: TaskName::new("grind").unwrap(), version: 1 };
        planner.learn([(&queue("default"), Some(kind))].into_iter());
        assert_eq!(ask(&mut planner, with_blocking), [3, 3]);
        planner.follow(&config(2, Some(5)));
        assert_eq!(ask(&mut planner, ahead), [5, 10], "what waits counts towards max_per_worker");
    }

    #[test]
    fn a_queue_that_a_pattern_matches_is_asked_once_it_exists_and_until_it_is_gone() {
        let mut config = config(1, None);
        for role in config.roles.values_mut() {
            role.queues = ["default", "heavy*"].map(|text| text.parse().unwrap()).into();
        }
        let mut planner = ClaimPlanner::new(RoleName::new("default").unwrap(), BTreeMap::new());
        let mut asked = |config: &StoreConfig| {
            let follows = planner.follow(config);
            let asked = planner.ask(room(1), &[]);
            planner.answered(&asked, std::iter::empty());
            (follows, asked.into_iter().map(|claim| claim.queue.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(asked(&config), (true, vec!["default".to_owned()]));
        config.matched = Arc::new([queue("heavy"), queue("heavy-2")].into());
        config.version = 2;
        assert_eq!(asked(&config), (true, ["default", "heavy", "heavy-2"].map(str::to_owned).into()));
        config.version = 3;
        assert!(!asked(&config).0, "a version that concerns other roles");
        config.matched = Arc::default();
        assert_eq!(asked(&config), (true, vec!["default".to_owned()]));
    }

    #[test]
    fn a_role_that_does_not_exist_asks_for_nothing() {
        let mut planner = ClaimPlanner::new(RoleName::new("nobody").unwrap(), BTreeMap::new());
        planner.follow(&config(1, None));
        assert!(planner.ask(room(4), &[]).is_empty());
    }
}
