//! How a submission becomes a task: where it goes, under which concurrency key, and whether it may go there.
//!
//! Every way into a store ends here: the HTTP API, schedules, workflows, bridges, and clients with the store's address. What
//! they differ in is where the rules come from, how old they may be, and when they ask whether the queue may be named.

use crate::{
    dependency::{Dependency, signal::AwaitedSignal},
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    policy::{CrashPolicy, PolicyOverrides},
    queue::{
        self, Config,
        gate::ConcurrencyKey,
        routing::{self, QueueForbidden, Turns, field_text},
    },
    submission::template::TaskTemplate,
    task::{NewTask, Priority, Start, metadata::Metadata, unique::Unique},
};

/// A task that has no queue yet. The fields mean what they mean in [`NewTask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDraft {
    /// Its identity.
    pub id: TaskId,
    /// Whether the client chose the id, or an idempotency key gave it.
    pub id_is_chosen: bool,
    /// What to run.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// The queue that the submitter names; `None` leaves it to the routing rules.
    pub queue: Option<QueueName>,
    /// The queue that the program of the submitter names for all tasks of this kind, for where no rule applies.
    pub default_queue: Option<QueueName>,
    /// Its rank in the queue.
    pub priority: Priority,
    /// Its parameters.
    pub parameters: Payload,
    /// When it may start.
    pub start: Start,
    /// What this submission changes of the task's policy.
    pub overrides: PolicyOverrides,
    /// The author's policy for workers that vanish, as far as it is known.
    pub on_crash: CrashPolicy,
    /// Its uniqueness constraint.
    pub unique: Option<Box<Unique>>,
    /// The concurrency key that the submitter names; `None` leaves it to the queue's key parameter.
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Whose ends it waits for.
    pub depends_on: Vec<Dependency>,
    /// The signals from outside that it waits for.
    pub signals: Vec<AwaitedSignal>,
    /// Whether it ends by itself once it waits for nothing.
    pub is_spontaneous: bool,
    /// Its metadata.
    pub metadata: Metadata,
    /// W3C `traceparent`.
    pub trace: Option<Box<str>>,
    /// A digest of the whole request it came in, for requests that carry an idempotency key.
    pub request_digest: Option<u64>,
}

impl TaskDraft {
    /// A draft with defaults for all but the essentials.
    #[must_use]
    pub fn new(id: TaskId, name: TaskName, parameters: Payload) -> Self {
        Self {
            id,
            id_is_chosen: true,
            name,
            version: 1,
            queue: None,
            default_queue: None,
            priority: Priority::DEFAULT,
            parameters,
            start: Start::Now,
            overrides: PolicyOverrides::default(),
            on_crash: CrashPolicy::default(),
            unique: None,
            concurrency_key: None,
            depends_on: Vec::new(),
            signals: Vec::new(),
            is_spontaneous: false,
            metadata: Metadata::default(),
            trace: None,
            request_digest: None,
        }
    }

    /// What a template makes.
    #[must_use]
    pub fn of_template(template: &TaskTemplate, id: TaskId, start: Start) -> Self {
        Self {
            version: template.version,
            queue: template.queue.clone(),
            default_queue: template.default_queue.clone(),
            priority: template.priority,
            start,
            overrides: template.overrides.clone(),
            concurrency_key: template.concurrency_key.clone(),
            signals: template.signals.clone(),
            is_spontaneous: template.is_spontaneous,
            metadata: template.metadata.clone(),
            ..Self::new(id, template.name.clone(), template.payload())
        }
    }

    /// The task: in the queue and under the key that the submitter named, or else those that the configuration gives it.
    /// `turns` and `random` decide where a rule has several queues.
    #[must_use]
    pub fn into_task(self, config: &Config, turns: &Turns, random: impl FnOnce() -> u64) -> NewTask {
        let (queue_is_explicit, key_is_explicit) = (self.queue.is_some(), self.concurrency_key.is_some());
        let queue = self.queue.unwrap_or_else(|| {
            let what = (&self.name, self.version, &self.parameters);
            route(config, what, self.default_queue.as_ref(), turns, random)
        });
        let concurrency_key = self.concurrency_key.or_else(|| config.key_of(&queue, &self.parameters));
        let mut task = NewTask {
            id: self.id,
            id_is_chosen: self.id_is_chosen,
            name: self.name,
            version: self.version,
            queue,
            queue_is_explicit,
            default_queue: self.default_queue,
            priority: self.priority,
            parameters: self.parameters,
            start: self.start,
            overrides: self.overrides,
            said: None,
            unique: self.unique,
            concurrency_key,
            key_is_explicit,
            depends_on: self.depends_on,
            signals: self.signals,
            is_spontaneous: self.is_spontaneous,
            metadata: self.metadata,
            trace: self.trace,
            request_digest: self.request_digest,
        };
        task.fill(self.on_crash);
        task
    }
}

impl NewTask {
    /// Routes it again, by a configuration that was read later. What the submitter named stays.
    pub fn route_again(&mut self, config: &Config, turns: &Turns, random: impl FnOnce() -> u64) {
        if self.queue_is_explicit {
            return;
        }
        let what = (&self.name, self.version, &self.parameters);
        self.queue = route(config, what, self.default_queue.as_ref(), turns, random);
        if !self.key_is_explicit {
            self.concurrency_key = config.key_of(&self.queue, &self.parameters);
        }
    }

    /// Checks whether its submitter may name its queue.
    ///
    /// # Errors
    /// [`QueueForbidden`], only where the submitter names one.
    pub fn check_queue(&self, config: &Config) -> Result<(), QueueForbidden> {
        if !self.queue_is_explicit {
            return Ok(());
        }
        let parameter = |field: &str| field_text(&self.parameters, field);
        routing::check_explicit(&config.routes, &self.name, self.version, &self.queue, parameter)
    }

    /// The most bytes that its queue holds, if its parameters alone are more: it could never be stored.
    #[must_use]
    pub fn exceeded_bytes(&self, config: &Config) -> Option<u64> {
        let most = config.queues.get(&self.queue)?.max_bytes?;
        (self.parameters.len() as u64 > most).then_some(most)
    }
}

/// The queue that the rules choose for a task. Where no rule applies, it is the one that its program names, or else `default`.
fn route(
    config: &Config,
    (name, version, parameters): (&TaskName, u32, &Payload),
    default: Option<&QueueName>,
    turns: &Turns,
    random: impl FnOnce() -> u64,
) -> QueueName {
    let chosen = routing::find_rule(&config.routes, name, version).and_then(|(key, rule)| {
        let draw = turns.draw(key, &rule.route, random);
        routing::choose(&rule.route, draw, |field| field_text(parameters, field)).cloned()
    });
    #[expect(clippy::expect_used, reason = "a constant that is legal")]
    chosen.or_else(|| default.cloned()).unwrap_or_else(|| QueueName::new(queue::DEFAULT).expect("a legal queue name"))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use proptest::prelude::*;

    use super::*;
    use crate::queue::{
        QueueConfig,
        routing::{ExplicitQueue, Route, RouteKey, RouteRule, Versions},
    };

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn draft(parameters: &str) -> TaskDraft {
        let parameters = Payload::json(parameters.as_bytes().to_vec());
        TaskDraft::new(TaskId::new("a").unwrap(), TaskName::new("t").unwrap(), parameters)
    }

    /// `t` goes to `a` and `b` by turns, which have key parameters; other tasks have no rule.
    fn config(explicit_queue: ExplicitQueue) -> Config {
        let route = Route::RoundRobin { queues: vec![queue("a"), queue("b")] };
        let key = RouteKey { name: TaskName::new("t").unwrap(), versions: Versions::ALL };
        let with_key = |name: &str| QueueConfig {
            key_parameter: Some(format!("{name}_key")),
            max_bytes: Some(20),
            ..QueueConfig::new(queue(name))
        };
        Config {
            routes: BTreeMap::from([(key, RouteRule { route, explicit_queue })]),
            queues: ["a", "b"].map(|name| (queue(name), Arc::new(with_key(name)))).into(),
            ..Config::default()
        }
    }

    fn made(draft: TaskDraft, config: &Config, turns: &Turns) -> NewTask {
        draft.into_task(config, turns, || unreachable!("no rule is decided by chance"))
    }

    #[test]
    fn rules_choose_the_queue_and_the_queue_finds_the_key() {
        let (config, turns) = (config(ExplicitQueue::Allow), Turns::default());
        let placed = |draft| {
            let task = made(draft, &config, &turns);
            let key = task.concurrency_key.map(|key| key.as_str().to_owned());
            (task.queue.to_string(), key, task.queue_is_explicit, task.key_is_explicit)
        };
        let by_key = draft(r#"{"a_key":"x","b_key":"y"}"#);
        assert_eq!(placed(by_key.clone()), ("a".to_owned(), Some("x".to_owned()), false, false));
        assert_eq!(placed(by_key.clone()), ("b".to_owned(), Some("y".to_owned()), false, false));
        let named = TaskDraft { queue: Some(queue("b")), ..by_key.clone() };
        assert_eq!(placed(named), ("b".to_owned(), Some("y".to_owned()), true, false));
        let keyed = TaskDraft { concurrency_key: Some(ConcurrencyKey::new("z").unwrap()), ..by_key.clone() };
        assert_eq!(placed(keyed), ("a".to_owned(), Some("z".to_owned()), false, true));
        let other = TaskDraft { name: TaskName::new("u").unwrap(), ..by_key };
        assert_eq!(placed(other), (queue::DEFAULT.to_owned(), None, false, false));
    }

    #[test]
    fn a_queue_that_the_program_names_ranks_below_the_rules_and_is_never_forbidden() {
        let (forbidding, turns) = (config(ExplicitQueue::Forbid), Turns::default());
        let by_program = || TaskDraft { default_queue: Some(queue("c")), ..draft(r#"{"a_key":"x"}"#) };
        let ruled = made(by_program(), &forbidding, &turns);
        assert_eq!((ruled.queue.as_str(), ruled.queue_is_explicit), ("a", false));
        assert_eq!(ruled.check_queue(&forbidding), Ok(()));
        let without_rules = Config { routes: BTreeMap::new(), ..config(ExplicitQueue::Allow) };
        let mut free = made(by_program(), &without_rules, &turns);
        assert_eq!((free.queue.as_str(), free.queue_is_explicit), ("c", false));
        assert_eq!(free.fingerprint(), ruled.fingerprint(), "it is the same submission by whatever rules");
        free.route_again(&forbidding, &turns, || 0);
        assert!(forbidding.queues.contains_key(&free.queue));
        free.route_again(&without_rules, &turns, || 0);
        assert_eq!(free.queue.as_str(), "c");
        let named = TaskDraft { queue: Some(queue("b")), ..by_program() };
        assert_eq!(made(named, &without_rules, &turns).queue.as_str(), "b");
    }

    #[test]
    fn only_a_queue_that_was_named_is_forbidden() {
        let (forbidding, turns) = (config(ExplicitQueue::Forbid), Turns::default());
        let is_allowed = |named: Option<&str>| {
            made(TaskDraft { queue: named.map(queue), ..draft("{}") }, &forbidding, &turns)
                .check_queue(&forbidding)
                .is_ok()
        };
        assert!(is_allowed(None) && is_allowed(Some("a")) && !is_allowed(Some("c")));
        let named = made(TaskDraft { queue: Some(queue("c")), ..draft("{}") }, &forbidding, &turns);
        assert!(named.check_queue(&config(ExplicitQueue::Allow)).is_ok());
    }

    #[test]
    fn parameters_that_no_queue_could_hold_are_found() {
        let (config, turns) = (config(ExplicitQueue::Allow), Turns::default());
        let exceeded = |parameters: &str| made(draft(parameters), &config, &turns).exceeded_bytes(&config);
        assert_eq!([exceeded(r#"{"n":"345678901234"}"#), exceeded(r#"{"n":"3456789012345"}"#)], [None, Some(20)]);
    }

    proptest! {
        /// A repetition of a submission is recognized whatever the rules have become meanwhile.
        #[test]
        fn routing_changes_no_fingerprint(named in proptest::option::of("[abc]"), turn in 0..3_usize, keyed: bool) {
            let (with_rules, without, turns) = (config(ExplicitQueue::Allow), Config::default(), Turns::default());
            let concurrency_key = keyed.then(|| ConcurrencyKey::new("k").unwrap());
            let draft = TaskDraft { queue: named.as_deref().map(queue), concurrency_key, ..draft(r#"{"a_key":"x"}"#) };
            for _ in 0..turn {
                made(draft.clone(), &with_rules, &turns);
            }
            let (first, mut again) = (made(draft.clone(), &with_rules, &turns), made(draft, &without, &turns));
            prop_assert_eq!(first.fingerprint(), again.fingerprint());
            again.route_again(&with_rules, &turns, || 0);
            prop_assert_eq!(first.fingerprint(), again.fingerprint());
            prop_assert!(again.queue_is_explicit || with_rules.queues.contains_key(&again.queue));
        }
    }
}
