//! The keys of a store in Redis. Only this file, and `scripts/lib/store/base.lua` for the scripts, know them.
//!
//! Every key of a shard begins with `<prefix>:{<shard>}:`, so that all of them share one hash tag and lie in one slot:
//! scripts get this prefix as their only key and build the names. Only one shard exists yet; the tag is there from the
//! first day so that more can follow. The names after the prefix:
//!
//! | key | type | holds |
//! |---|---|---|
//! | `t` | hash | id: the record: the state of the task, and its submission |
//! | `b` | hash | id: parameters over 1 KiB; deleted when the task completes, unless its queue keeps so many bytes |
//! | `h` | hash | id: errors |
//! | `x` | hash | id: heartbeat, progress, checkpoint, the span of the last attempt |
//! | `u` | hash | id: since when workers give it back for not knowing it, and since when it was ready by then; a task that ran may leave one until it is deleted |
//! | `k`, `k:of` | hash | a task's name and unique key: id of the task that took it last; id: its uniqueness constraint |
//! | `o`, `o:order` | hash, sorted set | revision and id: a copy of a task that failed for good; their order |
//! | `o:sent` | set | revision and id of copies that were sent again |
//! | `e`, `e:order`, `e:cut` | hash, list, string | id: what is remembered of a deleted task whose id its client chose; their order; when one was last forgotten early |
//! | `duties` | hash | name: term, end, holder and note |
//! | `schedules`, `schedules:order`, `schedules:due` | hash, sorted sets | name: a schedule; all names with the score 0, so that they are in order; names by when there is something to do |
//! | `workflows`, `workflows:definitions` | hash | id: a run of a workflow; its definition |
//! | `workflows:order`, `workflows:state:<state>`, `workflows:due` | sorted sets | runs by when they were created, with the score 0, of all states and of one; ids by when there is something to do |
//! | `changes`, `changes:order`, `changes:outcomes` | hash, sorted set, hash | id: a logged change; ids by their numbers; id: the outcome of the change |
//! | `c` | number | the one counter behind revisions, fences and positions |
//! | `q:<queue>:q` | list | the lane: position and id of ready tasks of the default priority, as they were submitted |
//! | `q:<queue>:x` | number | entries of the lane that are no tasks any more |
//! | `q:<queue>:r` | sorted set | all other ready tasks by priority and position |
//! | `q:<queue>:p`, `q:<queue>:y` | sorted set | those of them that are set aside behind a gate, by the same; and by gate |
//! | `q:<queue>:h`, `q:<queue>:e`, `q:<queue>:t` | sorted set | who holds a slot of a gate; gates by when they may let tasks pass; their rates' marks |
//! | `q:<queue>:v` | string | after which gate the gates must still be checked again |
//! | `q:<queue>:k` | string | where the walk over its leases goes on that notes who holds a slot |
//! | `q:<queue>:s` | sorted set | scheduled tasks by the time they are due |
//! | `q:<queue>:d` | sorted set | tasks that wait for others, in the order they came |
//! | `q:<queue>:l` | sorted set | leases by their ends, those of a batch together, and a sentinel |
//! | `q:<queue>:j`, `q:<queue>:c` | sorted set, hash | batches of leases: their first fences by their first positions; first fence: the batch, and how many tasks are left in it (see `scripts/lib/kernel/batches.lua`) |
//! | `q:<queue>:f` | list | revision, mark and id of finished tasks, in that order; ghosts among them (see `scripts/lib/kernel/over.lua`) |
//! | `q:<queue>:w` | sorted set | idle workers, `worker@instance`, by when they came |
//! | `q:<queue>:b` | sorted set | the same, of workers that wait for the end of one of its tasks |
//! | `q:<queue>:g` | number | the mark of its rate: when all tasks started so far would have had their turn |
//! | `q:<queue>:i` | number | the same of the rate at which it accepts tasks |
//! | `q:<queue>:z` | hash | id: the bytes of a waiting task's parameters, where the queue limits these |
//! | `q:<queue>:n` | hash | counts: accepted, removed, finished ones by status, and ghosts |
//! | `q:<queue>:m` | string | its history: the open hour and a ring of minutes, as words (see `layout/history.rs`) |
//! | `q:<queue>:o` | list | its closed hours, the earliest first: hour, counts, and tasks by how long they waited and ran (MessagePack) |
//! | `queues` | sorted set | names of all queues, all with the score 0, so that they are in order |
//! | `paused` | set | names |
//! | `due`, `expiring`, `pruning` | sorted set | queues by lower bounds of when their first scheduled task is due, their first lease ends, their retention has something to delete |
//! | `limits` | hash | queue: the limits that scripts look after, of queues that have any |
//! | `gates` | hash | queue: its limits by key and by task, of queues that have any |
//! | `sizes`, `sized`, `sizing` | hash | queue: its max_bytes; the bytes that wait in it; how far what it held when it got that limit is counted |
//! | `keeps` | hash | queue: its keep_parameters, of queues that do not have the default |
//! | `config` | hash | `version`, the id of the latest `change`, each queue, role, rule and access key as JSON, and since when a worker drains |
//! | `catalogues`, `catalogues:expiry` | hash, sorted set | what workers can run, by digest, and until when it is kept |
//! | `workers`, `workers:expiry` | hash, sorted set | reports, and when they are forgotten |
//! | `quiet` | hash | `worker:<worker>`, `duty:<name>:<holder>`: how what is renewed without a write is renewed (see `scripts/lib/store/heartbeats.lua`) |
//! | `sessions`, `sessions:expiry` | hash, sorted set | sessions of the pages, by the digest of what a browser has, and when they end |
//! | `awaited` | hash | id: the processes that wait for the end of the task, each with a mark |
//! | `g:timeouts` | sorted set | signals from outside, a task's id, a zero byte and a name, by the time until which they must come |
//! | `g:early` | sorted set | signals that came before their tasks, a task's id, a zero byte and a name, by the time until which they are kept |
//! | `g`, `g:in`, `g:out`, `g:due`, `g:unsent` | hash, sorted sets, hash | id: how many dependencies a task has; edges by the task that waits, and by the one waited for; ends that are still to be signalled; id: up to which edges these are (see `scripts/lib/follow/dependency/edges.lua`) |
//! | `g:from`, `g:held`, `g:kept` | hash | id: the predecessors of a task; how many tasks that are not over have a task as predecessor; the state and the result of such a task that was deleted (see `scripts/lib/follow/parents.lua`) |
//! | `g:left` | list | predecessors that removed tasks still hold: lists as in `g:from` |
//! | `awaited:groups` | hash | board, `\|` and the bytes of a group in hexadecimal: the processes that wait for a task of it |
//! | `awaiting` | sorted set | these processes, by when they count as dead unless they renew it |
//! | `suspects` | set | queues that may have tasks suspected of crashing their workers |
//! | `unknown` | set | queues that may have tasks set aside for workers that know their kind |
//! | `picky` | hash | worker: the kinds of tasks that its last claim refused, by queue |
//! | `leased:<worker>`, `held:<worker>` | set | queues it claimed from; suspects it may hold |
//! | `loss:<worker>` | string | what it held when the first of its leases was taken back, for a day |
//! | `cancel:<worker>` | set | ids that it runs and that are to be cancelled |
//! | `request:<worker>:<slot>` | string | what a recent cycle did, for 30 s, in case its answer got lost |
//! | `answered:<instance>:<slot>` | string | what a recent call to boards did, for 30 s, in case its answer got lost |
//! | `boards` | sorted set | names of all boards, all with the score 0 |
//! | `boards:run` | hash | the server's run, when it wrote last, and how many revisions boards skip (see `scripts/lib/boards/board_run.lua`) |
//! | `board:c:<board>` | number | how many revisions it took |
//! | `board:t:<board>` | hash | revision: a task |
//! | `board:g:<board>\|<group>` | sorted set | time and revision of its tasks, all with the score 0, so that they are in exact order |
//! | `board:n:<board>` | sorted set | groups that hold tasks, all with the score 0 |
//! | `board:l:<board>` | sorted set | label and revision of its tasks, all with the score 0 |
//! | `board:w:<board>` | hash | group: the revision at which it last received a task, or one of it became earlier |
//! | `board:m:<board>` | set | the marks under which commits were applied |
//! | `emptied` | time | when a process that had used the store found none in its place; an operator deletes it |
//! | `replicated` | number | nothing: it is written before each wait for replicas |
//! | `schema` | number | the version of all this |
//!
//! The strings inside are described in `layout.rs`.

/// The version of the layout. A store with another one is refused, unless it is [`SCHEMA_BEFORE`].
pub(crate) const SCHEMA_VERSION: u32 = 4;

/// The version before, which has no batches of leases. A store of it becomes one of [`SCHEMA_VERSION`] when it is opened
/// by a program that may create one; programs of the version before refuse it from then on.
pub(crate) const SCHEMA_BEFORE: u32 = 3;

/// The prefix used when the URL names none.
pub(crate) const DEFAULT_PREFIX: &str = "jobbers";

/// Keys of which every store in use has at least one, whatever else it has lost.
pub(crate) const SIGNS: [&str; 5] = ["schema", "config", "queues", "c", "t"];

/// How a field of `config` begins.
pub(crate) const QUEUE_FIELD: &str = "queue:";
/// How a field of `config` begins.
pub(crate) const ROLE_FIELD: &str = "role:";
/// How a field of `config` begins.
pub(crate) const ROUTE_FIELD: &str = "route:";
/// How a field of `config` begins: a routing rule for a range of versions.
pub(crate) const RANGE_FIELD: &str = "range:";
/// How a field of `config` begins.
pub(crate) const DRAIN_FIELD: &str = "drain:";
/// How a field of `config` begins: an access key.
pub(crate) const ACCESS_FIELD: &str = "access:";
/// The field of `config` with its version.
pub(crate) const VERSION_FIELD: &str = "version";

/// The prefix of the keys of the store's one shard.
pub(crate) fn shard(prefix: &str) -> String {
    format!("{prefix}:{{0}}:")
}

/// The key of the layout's version, which every store has.
pub(crate) fn schema(shard: &str) -> String {
    format!("{shard}schema")
}

/// The key that is written before each wait for replicas.
pub(crate) fn replicated(shard: &str) -> String {
    format!("{shard}replicated")
}

/// The key of the definitions of workflows, which no script reads: they may be large.
pub(crate) fn definitions(shard: &str) -> String {
    format!("{shard}workflows:definitions")
}

/// The key that says when the store was found emptied.
pub(crate) fn emptied(shard: &str) -> String {
    format!("{shard}emptied")
}

/// What the channel of a process is called behind the prefix.
pub(crate) const INSTANCE: &str = ":instance:";

/// The channel of one process: `wake <worker>`, `done <id or group> …`.
pub(crate) fn instance_channel(shard: &str, instance: &str) -> String {
    format!("{shard}instance:{instance}")
}

/// The channel of all processes: `cancel <worker>`, `config`. A third kind, `beat:<record>:<end>`, carries no message
/// (`scripts/lib/store/heartbeats.lua`).
pub(crate) fn common_channel(shard: &str) -> String {
    format!("{shard}all")
}
