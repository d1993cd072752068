//! The first half of a bridge: takes tasks of its board and submits their native tasks.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::future::join_all;
use jobbers_api::problem::{Code, Problem};
use jobbers_boards::BRIDGE_OWNER;
use jobbers_common::{
    engine::{
        Error, OnConflict, Result, Submit,
        boards::{
            ListTasks, Placed, Take, TakeOrder,
            task::{BoardTask, BoardTime, Content, When},
        },
    },
    name::TaskId,
    submission::{draft::TaskDraft, template::TaskTemplate},
    task::{NewTask, Start},
};

use super::{
    Bridge, HeldTask,
    commit::{TaskChange, What, carry_out},
    reply::{RequestEnd, outcome},
    request::{NativeTask, mark, native_id, template, with_label},
};
use crate::{api::check_templates, background::ticker::is_trouble, submissions::sends::Sends, telemetry::meters::Sent};

/// A task of the board, and what is to be done with it.
#[derive(Debug)]
struct PlannedTask {
    task: BoardTask,
    id: TaskId,
    /// Whether its label has the id already.
    is_labelled: bool,
    step: IntakeStep,
}

#[derive(Debug)]
enum IntakeStep {
    /// Its native task was submitted.
    Follow,
    Submit(Box<TaskTemplate>),
    /// It is answered with an error.
    Refuse(String),
}

impl Bridge {
    /// Takes visible tasks and submits their native tasks. Returns whether there may be more.
    pub(super) async fn take(&mut self) -> Result<bool> {
        let room = self.settings.max_in_flight.saturating_sub(self.held.len()).min(self.pace.batch());
        if room == 0 || !self.look().await? {
            return Ok(false);
        }
        let list = ListTasks {
            board: self.board.clone(),
            group: self.settings.group.clone(),
            visible_only: true,
            after: None,
            limit: room,
        };
        let tasks = self.app.boards.list(list).await?.tasks;
        let planned = self.plan(tasks).await?;
        let (wanted, failure) = self.lease(planned).await;
        let submitted = self.submit(wanted).await;
        self.give_back_unsubmitted().await;
        submitted?;
        failure.map_or(Ok(self.pace.batch() > 0), Err)
    }

    /// Whether a task is visible. Notes the state of the board, before any later look at it.
    async fn look(&mut self) -> Result<bool> {
        let look = Take {
            board: self.board.clone(),
            group: self.settings.group.clone(),
            order: TakeOrder::FirstInFirstOut,
            owner: BRIDGE_OWNER,
            now: None,
            lease: None,
            require: Vec::new(),
        };
        let found = self.app.boards.take(look).await?;
        self.seen = found.revision;
        self.quiet = found.next_at.map_or(Duration::MAX, |at| span(found.now, at));
        Ok(found.task.is_some())
    }

    async fn plan(&mut self, tasks: Vec<BoardTask>) -> Result<Vec<PlannedTask>> {
        let (mut planned, mut ours, mut stale) = (Vec::with_capacity(tasks.len()), Vec::new(), Vec::new());
        for task in tasks {
            let (id, is_labelled) = match mark(&self.board, &task) {
                NativeTask::Ours(id) => {
                    ours.push(id.clone());
                    (Some(id), true)
                }
                NativeTask::Stale(id) => {
                    stale.push(id);
                    (native_id(&self.board, task.revision), false)
                }
                NativeTask::None => (native_id(&self.board, task.revision), false),
            };
            let step = template(&self.settings, &task.content)
                .map_or_else(IntakeStep::Refuse, |template| IntakeStep::Submit(Box::new(template)));
            planned.extend(id.map(|id| PlannedTask { task, id, is_labelled, step }));
        }
        if !stale.is_empty() {
            // Before the labels are overwritten: they are all that is known of these tasks.
            self.app.engine.cancel(&stale).await?;
        }
        if !ours.is_empty() {
            let statuses = self.app.engine.statuses(&ours).await?;
            let stored: HashSet<TaskId> =
                ours.into_iter().zip(statuses).filter_map(|(id, status)| status.map(|_| id)).collect();
            planned.iter_mut().filter(|it| stored.contains(&it.id)).for_each(|it| it.step = IntakeStep::Follow);
        }
        self.check(&mut planned).await?;
        Ok(planned)
    }

    /// Checks what is to be submitted as every submission is checked. What its queue does not let in yet is left out, with
    /// all behind it.
    async fn check(&mut self, planned: &mut Vec<PlannedTask>) -> Result<()> {
        let mut from = 0;
        loop {
            let rest = planned.iter().enumerate().skip(from);
            let (places, templates): (Vec<usize>, Vec<&TaskTemplate>) = rest
                .filter_map(|(place, it)| match &it.step {
                    IntakeStep::Submit(template) => Some((place, &**template)),
                    IntakeStep::Follow | IntakeStep::Refuse(_) => None,
                })
                .unzip();
            let Err((place, problem)) = check_templates(&self.app, templates.into_iter()).await else { return Ok(()) };
            let Some(place) = places.get(place).copied() else { return Ok(()) };
            match refusal(&problem)? {
                Some(reason) => planned[place].step = IntakeStep::Refuse(reason),
                None => {
                    self.pause(problem.detail(), None);
                    planned.truncate(place);
                    return Ok(());
                }
            }
            from = place + 1;
        }
    }

    /// Leases the tasks, labels those without a label, and answers those that are refused. Returns what is to be submitted,
    /// and what the store failed with.
    async fn lease(&mut self, planned: Vec<PlannedTask>) -> (Vec<(TaskId, TaskTemplate)>, Option<Error>) {
        let began = Instant::now();
        let changes = planned.iter().map(|it| self.first_change(it)).collect();
        let carried = carry_out(&*self.app.boards, &self.board, changes).await;
        let mut planned: HashMap<TaskId, PlannedTask> = planned.into_iter().map(|it| (it.id.clone(), it)).collect();
        let mut wanted = Vec::new();
        for (id, placed) in carried.done {
            let Some(PlannedTask { task, step, .. }) = planned.remove(&id) else { continue };
            if let Some(placed) = placed {
                self.hold(&id, task, &placed, began);
            }
            match step {
                IntakeStep::Follow => self.follow(&id),
                IntakeStep::Submit(template) => wanted.push((id, *template)),
                IntakeStep::Refuse(reason) => {
                    tracing::debug!(bridge = %self.name, task = %id, %reason, "refused a task");
                }
            }
        }
        (wanted, carried.failure)
    }

    fn first_change(&self, PlannedTask { task, id, is_labelled, step }: &PlannedTask) -> TaskChange {
        let what = match step {
            IntakeStep::Refuse(reason) => {
                What::Replace(outcome(&self.settings, &task.content, id, &RequestEnd::Refused(reason.clone())))
            }
            IntakeStep::Follow | IntakeStep::Submit(_) => {
                What::Put(self.lease_end(), (!is_labelled).then(|| with_label(&task.content, id)))
            }
        };
        TaskChange { id: id.clone(), revision: task.revision, what }
    }

    /// The time of a task that is leased now.
    pub(super) fn lease_end(&self) -> When {
        When::In(i64::try_from(self.settings.lease.as_nanos()).unwrap_or(i64::MAX))
    }

    fn hold(&mut self, id: &TaskId, task: BoardTask, placed: &Placed, began: Instant) {
        let needs_data = self.settings.failed_group.is_some();
        let content = if needs_data { task.content } else { Content { data: Bytes::new(), ..task.content } };
        // One whose lease was not renewed in time can be taken a second time.
        let (follower, end) =
            self.held.remove(id).map_or((None, None), |mut before| (before.follower.take(), before.end.take()));
        let mut held = HeldTask {
            revision: placed.revision,
            at: placed.at,
            place: task.at,
            content,
            renew_at: began,
            ends_at: began,
            follower,
            end,
        };
        held.renewed(placed, began, self.settings.lease);
        self.held.insert(id.clone(), held);
    }

    /// Submits native tasks: together, or one by one if they are refused together.
    async fn submit(&mut self, wanted: Vec<(TaskId, TaskTemplate)>) -> Result<()> {
        let now = Instant::now();
        let mut tasks = Vec::with_capacity(wanted.len());
        for (id, template) in wanted {
            if self.held.get(&id).is_some_and(|held| held.ends_at > now) {
                tasks.push(self.app.make_task(TaskDraft::of_template(&template, id, Start::Now)).await?);
            } else {
                // This process was stopped for that long. The task is another bridge's.
                self.held.remove(&id);
            }
        }
        if tasks.is_empty() {
            return Ok(());
        }
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        match self.send(tasks.clone()).await {
            Ok(()) => {
                ids.iter().for_each(|id| self.follow(id));
                self.pace.accepted();
                return Ok(());
            }
            Err(error) if is_trouble(&error) => return Err(error),
            Err(error) if ids.len() == 1 => return ids.iter().try_for_each(|id| self.refused(id, error.clone())),
            Err(_) => {}
        }
        let answers = join_all(tasks.into_iter().map(|task| self.send(vec![task]))).await;
        ids.iter().zip(answers).try_for_each(|(id, answer)| match answer {
            Ok(()) => {
                self.follow(id);
                Ok(())
            }
            Err(error) => self.refused(id, error),
        })
    }

    /// Submits native tasks. One whose id is taken is there already.
    async fn send(&self, mut tasks: Vec<NewTask>) -> Result<()> {
        let sent: Vec<Sent> = tasks.iter().map(Sent::from).collect();
        let sends = Sends::begin(&mut tasks, None);
        let answer = self.app.engine.submit(Submit { tasks, on_conflict: OnConflict::Skip }).await;
        sends.end(answer.as_ref().err().map(Error::kind));
        self.app.meters.submitted(&sent, &answer?);
        Ok(())
    }

    /// A native task was refused: for now, or for good.
    fn refused(&mut self, id: &TaskId, error: Error) -> Result<()> {
        if is_trouble(&error) {
            return Err(error);
        }
        let problem = Problem::from(error);
        match refusal(&problem)? {
            Some(reason) => super::note_end(&mut self.held, id, RequestEnd::Refused(reason)),
            None => self.pause(problem.detail(), problem.retry_after()),
        }
        Ok(())
    }

    /// Takes no more for a while.
    fn pause(&mut self, reason: &str, retry_after: Option<Duration>) {
        if self.pace.refused(retry_after) {
            tracing::info!(bridge = %self.name, reason, "tasks wait on the board until their queue takes them");
        }
    }

    /// Gives back what was taken and could not be submitted.
    async fn give_back_unsubmitted(&mut self) {
        let is_unsubmitted = |held: &HeldTask| held.follower.is_none() && held.end.is_none();
        let ids = self.held.iter().filter(|(_, held)| is_unsubmitted(held)).map(|(id, _)| id.clone()).collect();
        self.give_back(ids).await;
    }
}

/// Why a native task can't be submitted at all; `None` if it may be accepted later.
///
/// # Errors
/// When the store is the reason, and not the task.
fn refusal(problem: &Problem) -> Result<Option<String>> {
    match problem.code() {
        Code::QueueFull | Code::RateLimited | Code::UnknownQueue => Ok(None),
        code if code.status().is_server_error() => Err(Error::unavailable(problem.detail())),
        _ => Ok(Some(problem.detail().to_owned())),
    }
}

/// From one moment to a later one; zero if it is not later.
fn span(from: BoardTime, to: BoardTime) -> Duration {
    Duration::from_nanos(u64::try_from(i128::from(to.0) - i128::from(from.0)).unwrap_or(0))
}
