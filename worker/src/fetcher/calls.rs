//! The calls under way: sends them, and knows what they ask for and settle.

use std::{sync::Arc, time::Instant};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use jobbers_common::engine::{ClaimRequest, Cycle, Engine, Error};

use super::{
    call::{Ask, Call, CallResult},
    settling::Settling,
};
use crate::attempts::attempt::SharedState;

/// The most calls under way: one at the store while the tasks of the other run.
const MOST_CALLS: usize = 2;

/// The calls that the store has not answered.
#[derive(Default)]
pub(super) struct Calls {
    under_way: FuturesUnordered<BoxFuture<'static, Box<CallResult>>>,
    /// Tasks that they ask for.
    asked: usize,
    /// Settlements in them.
    settling: usize,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether there may not be another one now.
    pub(super) fn are_most(&self) -> bool {
        self.under_way.len() >= MOST_CALLS
    }

    /// How many tasks they ask for.
    pub(super) const fn asked(&self) -> usize {
        self.asked
    }

    /// How many settlements are in them.
    pub(super) const fn settling(&self) -> usize {
        self.settling
    }

    /// The next answer; `None` if no call is under way.
    pub(super) async fn next(&mut self) -> Option<Box<CallResult>> {
        let answer = self.under_way.next().await?;
        self.asked -= answer.call.ask.room;
        self.settling -= answer.call.settling.len();
        Some(answer)
    }

    /// Sends a call.
    pub(super) fn send(
        &mut self,
        engine: Arc<dyn Engine>,
        shared: &SharedState,
        settling: Vec<Settling>,
        is_alone: bool,
        ask: Ask,
    ) {
        self.asked += ask.room;
        self.settling += settling.len();
        let lease = shared.lease;
        let cycle = Cycle {
            worker: shared.worker.clone(),
            settlements: settling.iter().map(Settling::settlement).collect(),
            claim: (ask.room > 0).then(|| ClaimRequest {
                queues: ask.queues.clone(),
                limit: ask.room,
                refused: ask.refused.clone(),
                lease,
            }),
        };
        self.under_way.push(Box::pin(async move {
            let sent = Instant::now();
            let answered = tokio::time::timeout(lease, engine.cycle(cycle)).await;
            let result = answered.unwrap_or_else(|_| Err(Error::unavailable("no answer in time")));
            Box::new(CallResult { call: Call { settling, is_alone, ask, sent }, result })
        }));
    }
}
