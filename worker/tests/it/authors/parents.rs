//! What a task reads of the tasks it waited for.

use jobbers_common::{lifecycle::Status, name::TaskId};
use jobbers_worker::{ParentEnd, policy::DependencyPolicy, prelude::*, testing::TestBench};

#[task]
async fn parents_square(n: u64) -> Result<u64, TaskError> {
    if n == 13 { Err(TaskError::fatal("thirteen")) } else { Ok(n * n) }
}

#[task]
async fn parents_quiet() -> Result<(), TaskError> {
    Ok(())
}

/// The results of all, and of one by its name.
#[task]
async fn parents_sum(ctx: Context, one: String) -> Result<(u64, u64), TaskError> {
    Ok((ctx.parents::<u64>().await?.into_iter().sum(), ctx.parent(&one).await?))
}

#[task]
async fn parents_tally(ctx: Context) -> Result<Vec<(String, bool)>, TaskError> {
    let ends: Vec<ParentEnd<u64>> = ctx.parent_ends().await?;
    let failed = ctx.parent_end::<u64>("t/bad").await?;
    assert_eq!((failed.status, failed.result), (Some(Status::Failed), None));
    Ok(ends.into_iter().map(|end| (end.id.to_string(), end.result == Some(4))).collect())
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_task_reads_the_results_of_those_it_waited_for() {
    let bench = TestBench::new().await.unwrap();
    let squares = [2, 3].map(|n| parents_square.with(n).id(format!("t/n{n}")));
    bench.client().submit_all(squares).await.unwrap();
    let sum = |one: &str| parents_sum.with(one.to_owned()).depends_on("t/n2").depends_on("t/n3");
    for (task, one) in [("t/by-node", "n3"), ("t/by-id", "t/n3"), ("apart", "t/n3")] {
        sum(one).id(task).submit(bench.client()).await.unwrap();
    }
    sum("n4").id("t/none").submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    for task in ["t/by-node", "t/by-id", "apart"] {
        assert_eq!(bench.result::<(u64, u64)>(&id(task)).await.unwrap(), (13, 9), "{task}");
    }
    let error = bench.engine().get(&id("t/none")).await.unwrap().unwrap().errors.remove(0);
    assert_eq!(error.error_kind.unwrap().as_str(), "no_parent");
    assert!(error.message.contains("did not wait for n4"), "{}", error.message);
}

#[tokio::test]
async fn a_failed_predecessor_has_an_end_and_no_result() {
    let bench = TestBench::new().await.unwrap();
    let squares = [(2, "t/good"), (13, "t/bad")].map(|(n, id)| parents_square.with(n).id(id));
    bench.client().submit_all(squares).await.unwrap();
    let any = DependencyPolicy::RunWithFailures;
    let tally = parents_tally.with(NoParameters).depends_on_by("t/bad", any).depends_on_by("t/good", any);
    tally.id("t/tally").submit(bench.client()).await.unwrap();
    let sum = parents_sum.with("good".to_owned()).depends_on_by("t/bad", any).id("t/sum");
    sum.submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    let tally: Vec<(String, bool)> = bench.result(&id("t/tally")).await.unwrap();
    assert_eq!(tally, [("t/bad".to_owned(), false), ("t/good".to_owned(), true)]);
    let error = bench.engine().get(&id("t/sum")).await.unwrap().unwrap().errors.remove(0);
    assert_eq!(error.error_kind.unwrap().as_str(), "no_result");
    assert!(error.message.contains("t/bad has no result: it is failed"), "{}", error.message);
}

#[tokio::test]
async fn a_result_without_content_is_read_as_nothing_and_another_type_is_refused() {
    #[task(unlisted)]
    async fn parents_odd(ctx: Context) -> Result<bool, TaskError> {
        ctx.parent::<()>("quiet").await?;
        Ok(
            matches!(ctx.parent::<u64>("quiet").await, Err(TaskError::Fatal(reason)) if reason.message.contains("does not fit")),
        )
    }
    let bench = TestBench::builder().task(&parents_odd).build().await.unwrap();
    parents_quiet.with(NoParameters).id("quiet").submit(bench.client()).await.unwrap();
    let odd = parents_odd.with(NoParameters).depends_on("quiet").submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert!(bench.result::<bool>(&odd.id).await.unwrap());
}
