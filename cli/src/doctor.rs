//! The examination behind `jobbers doctor`: what it asks of a store, and what it makes of the answers.
//!
//! It reads and changes nothing; what it finds, `cleaner --repair` may mend. The store's own part is
//! [`Upkeep::audit`](jobbers_common::engine::Upkeep::audit); here it is put beside what the store promises, who keeps the archive, and who shares the store.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use jobbers_api::client::{Client, ClientKey};
use jobbers_archive::Examined;
use jobbers_common::{
    engine::{
        AuditRequest, Duty, Engine, Error, Finding, Flaw, Health, QueueStats, Result, boards::Boards,
        reads::first_queues,
    },
    limits::MAX_BATCH,
    name::{DutyName, RoleName, WorkerId},
    worker::{RegisteredWorker, registry::CatalogueId},
};
use jobbers_manager::DEAD_LETTERS_DUTY;
use jobbers_process::client_key;
use serde::Serialize;
use serde_json::Value;

use crate::terminal::output;

/// Findings that a report names; of more it tells the number.
const NAMED: usize = 100;
/// Live workers that a report names; the others are counted.
const NAMED_WORKERS: usize = 20;
/// A letter that the keeper has not fetched within this time is not just on its way.
const FETCHED_WITHIN: Duration = Duration::from_secs(60);
/// How long the keeper of the archive may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// The version everything is compared with.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub check: &'static str,
    /// Whether it is well.
    pub ok: bool,
    /// What was seen, in a few words.
    pub seen: String,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
}

impl Check {
    fn new(check: &'static str, seen: impl Into<String>, problems: Vec<String>) -> Self {
        Self { check, ok: problems.is_empty(), seen: seen.into(), problems }
    }
}

/// A queue's books: `accepted` = `live` + `finished` + `removed`, if none is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Books {
    /// The queue.
    pub queue: String,
    /// Tasks ever accepted.
    pub accepted: u64,
    /// Of these: waiting, scheduled, ready or running.
    pub live: u64,
    /// Over, and still kept.
    pub finished: u64,
    /// Pruned, purged, replaced or moved away.
    pub removed: u64,
}

impl Books {
    fn of(stats: &QueueStats) -> Self {
        let (mut live, mut finished) = (0, 0);
        for (status, tasks) in &stats.tasks {
            *(if status.is_finished() { &mut finished } else { &mut live }) += tasks;
        }
        Self { queue: stats.queue.to_string(), accepted: stats.accepted, live, finished, removed: stats.removed }
    }

    const fn are_balanced(&self) -> bool {
        self.accepted == self.live + self.finished + self.removed
    }
}

/// The processes that use the store, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sharers {
    /// The managers that are known. A store keeps no list of managers, so there may be more.
    pub managers: Vec<Manager>,
    /// The first live workers, in the order of their ids.
    pub workers: Vec<LiveWorker>,
    /// How many live workers are not named.
    pub further_workers: usize,
    /// What of the schemas that they registered is not checked, and why, by task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}

/// A manager of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Manager {
    /// Its address.
    pub url: String,
    /// How it is known.
    pub known_as: Vec<&'static str>,
}

/// A live worker of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LiveWorker {
    /// Its id.
    pub id: WorkerId,
    /// The host it runs on.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// The version of its program.
    pub version: String,
    /// Its role.
    pub role: RoleName,
}

impl Sharers {
    fn new(here: Option<&str>, keeper: Option<&str>, mut workers: Vec<RegisteredWorker>) -> Self {
        let known = [(here, "runs in this folder"), (keeper, "keeps the archive of dead letters")];
        let mut managers: Vec<Manager> = Vec::new();
        for (url, known_as) in known.into_iter().filter_map(|(url, known_as)| Some((url?, known_as))) {
            match managers.iter_mut().find(|manager| manager.url == url) {
                Some(manager) => manager.known_as.push(known_as),
                None => managers.push(Manager { url: url.to_owned(), known_as: vec![known_as] }),
            }
        }
        workers.sort_unstable_by(|one, other| one.report.id.cmp(&other.report.id));
        let further_workers = workers.len().saturating_sub(NAMED_WORKERS);
        let worker = |RegisteredWorker { report, .. }: RegisteredWorker| LiveWorker {
            id: report.id,
            host: report.host,
            pid: report.pid,
            version: report.version,
            role: report.role,
        };
        let workers = workers.into_iter().take(NAMED_WORKERS).map(worker).collect();
        Self { managers, workers, further_workers, unchecked: Vec::new() }
    }
}

/// What an examination came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Whether every check is.
    pub healthy: bool,
    /// What was looked at.
    pub checks: Vec<Check>,
    /// Each queue.
    pub queues: Vec<Books>,
    /// Which processes use the store.
    pub sharers: Sharers,
    /// How many tasks and entries were looked at.
    pub looked_at: u64,
    /// How many things do not agree.
    pub found: u64,
    /// The first of these.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    fn new(checks: Vec<Check>, queues: Vec<Books>, sharers: Sharers, audit: Audit) -> Self {
        let Audit { looked_at, found, findings } = audit;
        let healthy = checks.iter().all(|check| check.ok);
        Self { healthy, checks, queues, sharers, looked_at, found: found.values().sum(), findings }
    }

    /// Of a store so damaged that it can't even be opened; `archive` is the check of its archive.
    #[must_use]
    pub fn of_damaged(why: &str, archive: Check) -> Self {
        let mut audit = Audit::default();
        audit.note(damage(why));
        let checks = vec![unread("store", why), archive, records(&audit)];
        Self::new(checks, Vec::new(), Sharers::default(), audit)
    }
}

/// What the audit of a store came to.
#[derive(Debug, Default)]
struct Audit {
    looked_at: u64,
    found: BTreeMap<Flaw, u64>,
    /// The first of them.
    findings: Vec<Finding>,
}

impl Audit {
    fn note(&mut self, finding: Finding) {
        *self.found.entry(finding.flaw).or_insert(0) += 1;
        if self.findings.len() < NAMED {
            self.findings.push(finding);
        }
    }
}

/// Examines a store from end to end. `here` is the address of the manager that is known to run on it in the working
/// directory, and `archive` the check of its archive. `watch` is called with the progress. What can't be read for damage is a problem of its check, and the next
/// one has its turn.
///
/// # Errors
/// Those of the store, but for damage.
pub async fn examine(
    store: &Arc<dyn Engine>,
    here: Option<&str>,
    archive: Check,
    watch: impl FnMut(u64),
) -> Result<Diagnosis> {
    let engine = store.as_ref();
    let mut checks = Vec::new();
    let health = readable(engine.health().await)?;
    checks.push(match &health {
        Ok(health) => {
            let what = format!("{}: {}; {}", health.store, health.server, health.durability);
            Check::new("store", what, health.warnings.clone())
        }
        Err(why) => unread("store", why),
    });
    checks.push(archive);
    let queues: Vec<Books> = match readable(first_queues(engine, usize::MAX).await)? {
        Ok(stats) => {
            let queues: Vec<Books> = stats.iter().map(Books::of).collect();
            checks.push(books(&queues));
            queues
        }
        Err(why) => {
            checks.push(unread("queues", &why));
            Vec::new()
        }
    };
    checks.push(readable(boards(&*Arc::clone(store).boards()).await)?.unwrap_or_else(|why| unread("boards", &why)));
    let audit = audit(engine, watch).await?;
    checks.push(records(&audit));
    let letters = match health {
        Ok(health) => readable(dead_letters(engine, &health).await)?,
        Err(why) => Err(why),
    };
    let (letters, keeper) = letters.unwrap_or_else(|why| (unread("dead letters", &why), None));
    checks.push(letters);
    let (url, version) = keeper.map_or((None, None), |keeper| (keeper.url, keeper.version));
    let sharers = match readable(engine.workers().await)? {
        Ok(workers) => {
            checks.push(versions(&workers, version));
            let unchecked = unchecked_schemas(engine, &workers).await?;
            Sharers { unchecked, ..Sharers::new(here, url.as_deref(), workers) }
        }
        Err(why) => {
            checks.push(unread("versions", &why));
            Sharers::new(here, url.as_deref(), Vec::new())
        }
    };
    Ok(Diagnosis::new(checks, queues, sharers, audit))
}

/// Examines the file of the archive, also when no manager keeps it. `path` is `None` where dead letters are not kept, or
/// where no manager of this folder would find the file.
#[must_use]
pub fn archive(path: Option<&Path>) -> Check {
    let Some(path) = path else { return Check::new("archive", "none is named", Vec::new()) };
    match jobbers_archive::examine(path) {
        None => Check::new("archive", format!("{} does not exist", path.display()), Vec::new()),
        Some(Examined { letters, problems }) => {
            let seen = format!("{}: {}", path.display(), output::count(letters, "dead letter"));
            Check::new("archive", seen, problems)
        }
    }
}

/// The parts of live workers' schemas that managers do not check.
async fn unchecked_schemas(engine: &dyn Engine, workers: &[RegisteredWorker]) -> Result<Vec<String>> {
    let mut unchecked = BTreeSet::new();
    let catalogues: BTreeSet<CatalogueId> = workers.iter().filter_map(|worker| worker.report.catalogue).collect();
    for id in catalogues {
        let Some(catalogue) = engine.catalogue(id).await? else { continue };
        unchecked.extend(jobbers_manager::unchecked_parts(catalogue));
    }
    Ok(unchecked.into_iter().collect())
}

/// An answer, or why it can't be read; the other errors of the store are those of the examination.
fn readable<T>(answer: Result<T>) -> Result<Result<T, String>> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(Error::Corrupt(why)) => Ok(Err(why)),
        Err(error) => Err(error),
    }
}

/// A check that damage has kept from being made.
fn unread(check: &'static str, why: &str) -> Check {
    Check::new(check, "can't be read", vec![Error::Corrupt(why.to_owned()).to_string()])
}

/// What kept the store from looking itself over.
fn damage(why: &str) -> Finding {
    Finding { flaw: Flaw::FileDamaged, subject: "store".to_owned(), detail: why.to_owned(), repaired: false }
}

async fn audit(engine: &dyn Engine, mut watch: impl FnMut(u64)) -> Result<Audit> {
    let mut audit = Audit::default();
    let mut cursor = None;
    loop {
        let piece = engine.audit(AuditRequest { limit: MAX_BATCH, repair: false, cursor }).await;
        let piece = match readable(piece)? {
            Ok(piece) => piece,
            Err(why) => {
                audit.note(damage(&why));
                return Ok(audit);
            }
        };
        audit.looked_at += piece.looked_at;
        watch(audit.looked_at);
        piece.findings.into_iter().for_each(|finding| audit.note(finding));
        cursor = piece.next;
        if cursor.is_none() {
            return Ok(audit);
        }
    }
}

fn books(queues: &[Books]) -> Check {
    let sum = |of: fn(&Books) -> u64| queues.iter().map(of).sum::<u64>();
    let seen = format!(
        "{} accepted = {} live + {} finished + {} removed",
        sum(|it| it.accepted),
        sum(|it| it.live),
        sum(|it| it.finished),
        sum(|it| it.removed)
    );
    let off = queues.iter().filter(|it| !it.are_balanced()).map(|it| {
        let Books { queue, accepted, live, finished, removed } = it;
        format!(
            "queue {queue} took in {accepted} tasks, and has {live} live, {finished} finished and {removed} removed"
        )
    });
    Check::new("queues", seen, off.collect())
}

/// How many boards the store has. Their tasks, places and counts are compared by the audit.
async fn boards(boards: &dyn Boards) -> Result<Check> {
    let (mut count, mut tasks, mut last) = (0_u64, 0, None);
    loop {
        let page = boards.boards(last.as_ref(), MAX_BATCH).await?;
        count += page.len() as u64;
        tasks += page.iter().map(|board| board.tasks).sum::<u64>();
        last = page.last().filter(|_| page.len() == MAX_BATCH).map(|last| last.board.clone());
        if last.is_none() {
            let seen = format!("{}, {}", output::count(count, "board"), output::count(tasks, "task"));
            return Ok(Check::new("boards", seen, Vec::new()));
        }
    }
}

fn records(audit: &Audit) -> Check {
    let problems = audit.found.iter().map(|(flaw, times)| format!("{}: {times}", flaw.as_str()));
    Check::new("records", format!("{} tasks and entries", audit.looked_at), problems.collect())
}

/// The manager that keeps the archive.
struct ArchiveKeeper {
    /// Its address, if it noted one.
    url: Option<String>,
    /// Its version, if it can be asked.
    version: Option<String>,
}

/// Who keeps the archive, and how that one is, if it can be asked.
async fn dead_letters(engine: &dyn Engine, health: &Health) -> Result<(Check, Option<ArchiveKeeper>)> {
    let Health { outbox, now, warnings: known, .. } = health;
    let (outbox, now) = (*outbox, *now);
    let mut problems = Vec::new();
    let duty = match DutyName::new(DEAD_LETTERS_DUTY) {
        Ok(name) => engine.duty(&name).await?,
        Err(_) => None,
    };
    let Some(duty) = duty else {
        if outbox > 0 {
            problems.push(format!("no manager keeps the archive, and {outbox} dead letters wait in the store"));
        }
        return Ok((Check::new("dead letters", "no manager keeps the archive", problems), None));
    };
    let oldest = engine.dead_letters(0, 1).await?.copies.into_iter().next();
    let waits = oldest.and_then(|dead| dead.task.completed_at).filter(|at| at.after(FETCHED_WITHIN) < now);
    if waits.is_some() {
        problems.push(format!("{outbox} dead letters wait in the store, the oldest for more than a minute"));
    }
    let noted = url_of(&duty);
    let url = noted.as_deref().unwrap_or("an unknown address");
    let (seen, version) = match ask(url).await {
        Some(ready) => {
            let warnings = ready["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
            problems.extend(warnings.filter(|it| !known.iter().any(|known| known == it)).map(str::to_owned));
            (format!("kept by {url}, {outbox} on their way"), ready["version"].as_str().map(str::to_owned))
        }
        None => (format!("kept by {url}, which can't be asked from here; {outbox} on their way"), None),
    };
    Ok((Check::new("dead letters", seen, problems), Some(ArchiveKeeper { url: noted, version })))
}

/// The address that the holder of the duty noted.
fn url_of(duty: &Duty) -> Option<String> {
    let note: Value = serde_json::from_str(&duty.note).unwrap_or_default();
    note["url"].as_str().map(str::to_owned)
}

async fn ask(url: &str) -> Option<Value> {
    // Without a key a manager that asks for one says only whether it is ready.
    let key = client_key::of_environment().ok().flatten().and_then(|text| ClientKey::new(&text).ok());
    let client = Client::new(url, concat!("jobbers-cli/", env!("CARGO_PKG_VERSION"))).ok()?.with_key(key);
    let asked = async { client.get("/health/ready").exchange().await.ok()?.bytes().await.ok() };
    serde_json::from_slice(&tokio::time::timeout(PATIENCE, asked).await.ok()??).ok()
}

/// Whether the keeper of the archive and this program are of one version. A worker's version is its program's own, which
/// may be any; several versions are listed, which is not a problem.
fn versions(workers: &[RegisteredWorker], keeper: Option<String>) -> Check {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for worker in workers {
        *counts.entry(worker.report.version.clone()).or_default() += 1;
    }
    let problems = keeper
        .filter(|version| version != OURS)
        .map(|other| format!("the manager that keeps the archive is of version {other}; this program is {OURS}"));
    let counts: Vec<String> = counts.iter().map(|(version, times)| format!("{times} of version {version}")).collect();
    let workers = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
    let seen = format!("this program is {OURS}; workers alive: {workers}");
    Check::new("versions", seen, problems.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use jobbers_common::time::Timestamp;

    use super::*;

    #[test]
    fn books_that_lost_a_task_are_told() {
        let balanced = Books { queue: "a".to_owned(), accepted: 6, live: 1, finished: 2, removed: 3 };
        assert!(books(std::slice::from_ref(&balanced)).ok);
        let off = books(&[balanced.clone(), Books { queue: "b".to_owned(), accepted: 7, ..balanced }]);
        assert!(!off.ok && off.problems[0].starts_with("queue b took in 7"), "{off:?}");
    }

    #[test]
    fn a_holder_that_says_nothing_has_no_address() {
        let duty = |note: &str| Duty {
            holder: jobbers_common::name::HolderId::new("h").unwrap(),
            note: note.to_owned(),
            term: 1,
            taken_from: None,
            expires_at: Timestamp::default(),
        };
        assert_eq!(url_of(&duty(r#"{"url":"http://h:1","archive":"x"}"#)).as_deref(), Some("http://h:1"));
        assert_eq!(url_of(&duty("nonsense")), None);
    }
}
