//! Query: a take, repeated while its caller waits.
//!
//! A waiting call sleeps until the group gets a task, until the earliest task of the group is due, or, while the group is
//! empty, for [`Settings::empty_wait`](super::settings::Settings). It is dropped when its caller cancels, closes its connection or is
//! past its deadline, and takes nothing from then on.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use jobbers_common::{
    engine::boards::{Take, TakeAnswer, TakeOrder, task::BoardTime},
    values::text::excerpt,
};
use jobbers_process::server::memory::{Kind, MemoryShare};
use tonic::{Response, Status};

use super::{
    detached::DetachedCall,
    front::Front,
    proto::{QueryRequest, QueryResponse},
    translate,
    undelivered::Undelivered,
};

/// What a call that waits counts, besides the call itself.
const WAITING_BYTES: usize = 8 * 1024;
/// For how long a store is asked to wait at a time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Answers with a task of the group, which others don't see for `own_for`.
///
/// # Errors
/// `NOT_FOUND` when no task is visible and the call does not wait, or the group stays empty while it waits.
pub(super) async fn query(front: &Arc<Front>, request: QueryRequest) -> Result<Response<QueryResponse>, Status> {
    let QueryRequest { group, now, own_for, wait } = request;
    let mut take = Take {
        board: front.board.clone(),
        group,
        order: TakeOrder::FirstInFirstOut,
        owner: 0,
        now: None,
        lease: translate::lease(own_for.as_ref()),
        require: Vec::new(),
    };
    let now = now.as_ref().map(translate::time);
    let mut slept = Duration::ZERO;
    let mut empty_until = None;
    let mut waiting = None;
    loop {
        take.now = now.map(|now| front.cut(later(now, slept)));
        let (mut answer, undelivered) = front.take(take.clone()).await?;
        if let Some(task) = answer.task.take() {
            let mut response = Response::new(QueryResponse { task: Some(translate::task(task)) });
            if let Some(undelivered) = undelivered {
                response.extensions_mut().insert(undelivered);
            }
            return Ok(response);
        }
        let patience = match (wait, answer.next_at) {
            (false, _) => return Err(nothing(&take.group, &answer)),
            (true, Some(at)) => {
                empty_until = None;
                translate::span(answer.now, at)
            }
            (true, None) => {
                let until = *empty_until.get_or_insert_with(|| Instant::now() + front.settings.empty_wait);
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(nothing(&take.group, &answer));
                }
                left
            }
        };
        if waiting.is_none() {
            waiting = Some(front.wait_share()?);
        }
        let asleep = Instant::now();
        tokio::select! {
            () = front.boards.wait(&take.board, &take.group, answer.revision, patience.min(LONGEST_WAIT)) => {}
            () = front.drain.cancelled() => return Err(Status::unavailable("the server is stopping; try again")),
        }
        slept += asleep.elapsed();
    }
}

fn later(now: BoardTime, by: Duration) -> BoardTime {
    now.saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX))
}

fn nothing(group: &str, answer: &TakeAnswer) -> Status {
    Status::not_found(excerpt(match answer.next_at {
        None => format!("empty group {group:?}"),
        Some(at) => format!(
            "group {group:?} has no visible task; the next will be visible in {:?}",
            translate::span(answer.now, at)
        ),
    }))
}

impl Front {
    /// Counts a call that waits, for as long as the share is kept.
    fn wait_share(&self) -> Result<MemoryShare, Status> {
        let share = self.settings.memory.take(Kind::Waiting, WAITING_BYTES);
        share.ok_or_else(|| Status::unavailable("as many calls wait as memory allows; try again in a second"))
    }

    /// A caller's present, no further from this machine's than [`Settings::max_clock_skew`](super::settings::Settings).
    fn cut(&self, present: BoardTime) -> BoardTime {
        let Some(skew) = self.settings.max_clock_skew else { return present };
        let ours = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let bound = |nanoseconds: Option<i128>| {
            let nanoseconds = nanoseconds.unwrap_or(i128::MAX);
            BoardTime(i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX }))
        };
        let (ours, skew) = (i128::try_from(ours.as_nanos()).ok(), i128::try_from(skew.as_nanos()).unwrap_or(i128::MAX));
        let earliest = bound(ours.and_then(|ours| ours.checked_sub(skew)));
        let latest = bound(ours.and_then(|ours| ours.checked_add(skew)));
        present.clamp(earliest, latest)
    }

    /// Takes a task. It is put back unless its answer is kept and delivered, even if this future is dropped.
    async fn take(self: &Arc<Self>, take: Take) -> Result<(TakeAnswer, Option<Undelivered>), Status> {
        if take.lease.is_none() {
            let answer = self.boards.take(take).await.map_err(|error| translate::failure(&error))?;
            return Ok((answer, None));
        }
        let front = Arc::clone(self);
        let call = DetachedCall::new(&self.calls, async move {
            let answer = front.boards.take(take).await?;
            let undelivered = answer.task.as_ref().map(|task| Undelivered::new(front, task.revision, answer.now));
            Ok((answer, undelivered))
        });
        match call.await {
            Some(answer) => answer.map_err(|error| translate::failure(&error)),
            None => Err(Status::internal("the take broke down")),
        }
    }
}
