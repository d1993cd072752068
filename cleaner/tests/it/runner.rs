//! Batching, stopping and waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jobbers_cleaner::{Batch, Ending, Pass, Round, Runner};
use jobbers_common::engine::{Error, Result};
use jobbers_process::shutdown::Shutdown;

use crate::store::Store;

/// Has `batches` batches, notes where each began, and can stop its own cleaner.
#[derive(Debug, Clone, Default)]
struct Counting {
    batches: u64,
    done: Arc<AtomicU64>,
    stop_after: Option<(u64, Shutdown)>,
    fails: bool,
}

#[async_trait]
impl Pass for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    async fn run_once(&self, _: Round<'_>, cursor: Option<String>) -> Result<Batch> {
        if self.fails {
            return Err(Error::unavailable("it is down"));
        }
        let at: u64 = cursor.map_or(0, |text| text.parse().unwrap());
        let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some((after, shutdown)) = &self.stop_after
            && done == *after
        {
            shutdown.drain.cancel();
        }
        let next = (at + 1 < self.batches).then(|| (at + 1).to_string());
        Ok(Batch { removed: 10, next, ..Batch::default() })
    }
}

fn runner(passes: Vec<Counting>) -> Runner {
    let passes = passes.into_iter().map(|pass| Box::new(pass) as Box<dyn Pass>).collect();
    Runner::new(Store::new().engine, passes, false)
}

#[tokio::test]
async fn a_pass_is_repeated_from_where_it_ended_until_nothing_is_left() {
    let report = runner(vec![Counting { batches: 7, ..Counting::default() }]).run_once(&Shutdown::new()).await;
    assert!(report.complete);
    assert_eq!((report.removed, report.passes[0].batches), (70, 7));
}

#[tokio::test]
async fn a_cleaner_told_to_stop_does_so_between_two_batches_and_says_so() {
    let shutdown = Shutdown::new();
    let stops = Counting { batches: 7, stop_after: Some((3, shutdown.clone())), ..Counting::default() };
    let report = runner(vec![stops]).run_once(&shutdown).await;
    assert!(!report.complete);
    assert_eq!((report.passes[0].batches, report.passes[0].ending), (3, Ending::Stopped));
}

#[tokio::test]
async fn a_pass_that_fails_does_not_keep_the_next_from_its_work() {
    let passes = vec![Counting { fails: true, ..Counting::default() }, Counting { batches: 2, ..Counting::default() }];
    let report = runner(passes).run_once(&Shutdown::new()).await;
    assert!(!report.complete && report.is_transient_failure());
    assert_eq!((report.passes[0].ending, report.passes[1].ending), (Ending::Failed, Ending::Done));
    assert_eq!(report.removed, 20);
}

#[tokio::test(start_paused = true)]
async fn rounds_come_about_an_interval_apart_until_told_to_stop() {
    const MINUTE: Duration = Duration::from_secs(60);
    let shutdown = Shutdown::new();
    let runner = runner(vec![Counting { batches: 1, stop_after: Some((3, shutdown.clone())), ..Counting::default() }]);
    let mut rounds = runner.watch(MINUTE, &shutdown);
    let began = tokio::time::Instant::now();
    assert!(rounds.next().await.unwrap().complete);
    assert_eq!(began.elapsed(), Duration::ZERO, "the first round waits for nothing");
    assert!(rounds.next().await.unwrap().complete);
    assert!((MINUTE.mul_f64(0.9)..=MINUTE.mul_f64(1.1)).contains(&began.elapsed()), "{:?}", began.elapsed());
    rounds.next().await.unwrap();
    assert_eq!(rounds.next().await, None);
}
