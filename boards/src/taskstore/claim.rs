//! `POST /claim`: one task of a group, at random with a preference for old ones. It never waits.

use axum::{
    body::Bytes,
    extract::{RawQuery, State},
    response::Response,
};
use jobbers_common::engine::boards::{Take, TakeOrder};

use super::{
    answer::{Changed, CommitFailure, TaskStoreTask},
    encoding::decode,
    front::Front,
    id::{NO_REVISION, revision},
    refusal::Result,
    request::ClaimBody,
};

/// The handler.
pub(super) async fn claim(State(front): State<Front>, RawQuery(query): RawQuery, body: Bytes) -> Result<Response> {
    let share = front.memory.share();
    let request: ClaimBody = decode(
        &share,
        &body,
        query.as_deref(),
        "claim",
        "no parameters provided for task claim: send JSON, or a field `claim`",
    )?;
    let ClaimBody { client, group, duration, depends } = request;
    let take = Take {
        board: front.board.clone(),
        group,
        order: TakeOrder::Random,
        owner: i64::from(client),
        now: None,
        lease: Some(front.unit.span(duration)),
        require: depends.iter().map(|id| revision(*id).unwrap_or(NO_REVISION)).collect(),
    };
    let taken = front.boards.take(take).await?;
    if !taken.missing.is_empty() {
        let is_missing = |id: &i64| revision(*id).is_none_or(|id| taken.missing.contains(&id));
        let depends = depends.into_iter().filter(is_missing).collect();
        return Ok(Changed::failed(front.unit, &CommitFailure { depends, ..CommitFailure::default() }));
    }
    Ok(match &taken.task {
        Some(task) => Changed::done(front.unit, &[TaskStoreTask::of(front.unit, task)]),
        None => Changed::nothing(front.unit),
    })
}
