//! Chains, groups and chords, straight to a store and from inside a task.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Workflows, workflows::decode_workflow},
    lifecycle::Status,
    name::{TaskId, WorkflowId},
    workflow::mermaid,
};
use jobbers_law::model::ModelEngine;
use jobbers_worker::{
    Client, RunState, SubmitError,
    canvas::{Chain, Group, ResultOf, ResultsOf, chain, chord, group, join, map},
    prelude::*,
    testing::TestBench,
};

#[task]
async fn canvas_count(text: String) -> Result<u64, TaskError> {
    match text.as_str() {
        "bad" => Err(TaskError::fatal("bad text")),
        text => Ok(text.split_whitespace().count() as u64),
    }
}

#[task]
async fn canvas_split(text: String) -> Result<Vec<String>, TaskError> {
    Ok(text.split(',').map(str::to_owned).collect())
}

#[task]
async fn canvas_sum(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
    Ok(counts.read(&ctx).await?.into_iter().sum())
}

#[task]
async fn canvas_failures(ctx: Context, counts: ResultsOf<u64>) -> Result<usize, TaskError> {
    let ends = counts.ends(&ctx).await?;
    Ok(ends.into_iter().filter(|end| end.status == Some(Status::Failed)).count())
}

#[derive(Serialize, Deserialize)]
struct Scale {
    by: u64,
    of: ResultOf<u64>,
}

#[task]
async fn canvas_scale(ctx: Context, scale: Scale) -> Result<u64, TaskError> {
    Ok(scale.by * scale.of.read(&ctx).await?)
}

#[task]
async fn canvas_double(ctx: Context, n: ResultOf<u64>) -> Result<u64, TaskError> {
    Ok(2 * n.read(&ctx).await?)
}

#[task]
async fn canvas_note() -> Result<(), TaskError> {
    Ok(())
}

/// Counts the words of each part, and collects them: as many children as its text says.
#[task(max_retries = 1, retry_delay = "1h")]
async fn canvas_fan_out(ctx: Context, text: String) -> Result<String, TaskError> {
    let parts: Vec<String> = text.split(',').map(str::to_owned).collect();
    let total = ctx.spawn("count", map(&canvas_count, parts).then(&canvas_sum)).await?;
    if ctx.attempt() == 1 { Err(TaskError::retry("the worker stumbles")) } else { Ok(total.id().to_string()) }
}

#[task(max_retries = 1, retry_delay = "1h")]
async fn canvas_fickle(ctx: Context) -> Result<(), TaskError> {
    ctx.spawn("count", canvas_count.with(format!("attempt {}", ctx.attempt()))).await?;
    Err(TaskError::retry("again"))
}

fn words(texts: &[&str]) -> Group<u64> {
    map(&canvas_count, texts.iter().map(|text| (*text).to_owned()))
}

async fn bench() -> TestBench {
    TestBench::new().await.unwrap()
}

/// Runs a canvas to its end, and returns the result of its last task.
async fn run(bench: &TestBench, canvas: Chain<u64>) -> u64 {
    let run = canvas.workflow().submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    run.result(Duration::ZERO).await.unwrap()
}

async fn status(bench: &TestBench, id: &str) -> Status {
    bench.engine().get(&id.parse::<TaskId>().unwrap()).await.unwrap().unwrap().status
}

#[tokio::test]
async fn each_task_of_a_chain_takes_the_result_of_the_one_before() {
    let bench = bench().await;
    let chain = chain![canvas_count.with("one two three".to_owned()), &canvas_double, &canvas_double];
    assert_eq!(run(&bench, chain).await, 12);
}

#[tokio::test]
async fn a_result_may_be_one_of_several_parameters() {
    let bench = bench().await;
    let first = canvas_count.with("one two three".to_owned());
    assert_eq!(run(&bench, chain![first].then_with(|of| canvas_scale.with(Scale { by: 5, of }))).await, 15);
}

#[tokio::test]
async fn a_chord_collects_the_results_of_all_in_their_order() {
    let bench = bench().await;
    assert_eq!(run(&bench, words(&["a", "b c", "d e f"]).then(&canvas_sum)).await, 6);
    let parts = ["a b", "c"].map(|text| canvas_count.with(text.to_owned()));
    assert_eq!(run(&bench, chord(parts, &canvas_sum)).await, 3);
    assert_eq!(run(&bench, words(&[]).then(&canvas_sum)).await, 0, "a group without members");
}

#[tokio::test]
async fn canvases_compose() {
    let bench = bench().await;
    let inner = |texts: &[&str]| words(texts).then(&canvas_sum).then(&canvas_double);
    let outer = group([inner(&["a", "b c"]), inner(&["d"])]).then(&canvas_sum);
    let all = chain![canvas_note.with(NoParameters), outer, &canvas_double];
    assert_eq!(run(&bench, all).await, 2 * (2 * 3 + 2));
}

#[tokio::test]
async fn a_list_of_tasks_follows_a_task_and_may_take_its_result() {
    let bench = bench().await;
    let fan = chain![canvas_count.with("a b c".to_owned())]
        .then_each(|n| group([1, 2].map(|by| canvas_scale.with(Scale { by, of: n.clone() }))))
        .then(&canvas_sum);
    assert_eq!(run(&bench, fan).await, 9);
    let none =
        chain![canvas_count.with("bad".to_owned())].then_each(|_| group(Vec::<Chain<u64>>::new())).then(&canvas_sum);
    let run = none.workflow().id("none").submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(status(&bench, "none/canvas_sum").await, Status::Aborted, "it waited for what the list came after");
    run.result(Duration::ZERO).await.unwrap_err();
}

#[tokio::test]
async fn a_handler_runs_if_a_task_of_its_chain_fails() {
    let bench = bench().await;
    let handled = |text: &str| {
        let chain = chain![canvas_count.with(text.to_owned()), &canvas_double];
        chain.on_error(canvas_note.with(NoParameters).id("alarm")).finally(canvas_note.with(NoParameters).id("tidy"))
    };
    for (text, ends) in [
        ("bad", [Status::Aborted, Status::Completed, Status::Completed]),
        ("good", [Status::Completed, Status::Aborted, Status::Completed]),
    ] {
        handled(text).workflow().id(text).submit(bench.client()).await.unwrap();
        bench.drain().await.unwrap();
        for (node, end) in ["canvas_double", "alarm", "tidy"].into_iter().zip(ends) {
            assert_eq!(status(&bench, &format!("{text}/{node}")).await, end, "{text}/{node}");
        }
    }
}

#[tokio::test]
async fn a_collector_may_run_with_failures() {
    let bench = bench().await;
    let collect = words(&["a", "bad", "bad"]).with_failures().then(&canvas_failures);
    let run = collect.workflow().submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), 2);
}

#[tokio::test]
async fn a_canvas_is_stored_as_a_workflow_with_names() {
    let bench = bench().await;
    let canvas = || {
        let words = words(&["a", "b"]).then_with(|counts| canvas_sum.with(counts).id("total").queue("default"));
        words.then(&canvas_double).workflow().id("w").name("words")
    };
    let run = canvas().submit(bench.client()).await.unwrap();
    canvas().submit(bench.client()).await.unwrap();
    assert_eq!(run.state().await.unwrap(), Some(RunState::Running));
    let id = WorkflowId::new("w").unwrap();
    let stored = bench.engine().workflow(&id).await.unwrap().unwrap().run;
    assert_eq!((stored.nodes, stored.submitted, stored.name.unwrap().as_str()), (4, 4, "words"));
    let workflow = decode_workflow(&bench.engine().workflow_definition(&id).await.unwrap().unwrap()).unwrap();
    let names: Vec<&str> = workflow.nodes().iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["canvas_count-1", "canvas_count-2", "total", "canvas_double"]);
    assert_eq!(workflow.nodes()[3].task.parameters.as_str(), "\"total\"");
    let drawn = mermaid::write(&workflow, &[Status::Waiting; 4]);
    assert!(mermaid::read(&drawn).is_ok(), "{drawn}");
    let other = words(&["c"]).then(&canvas_sum).workflow().id("w").submit(bench.client()).await;
    assert!(matches!(other, Err(SubmitError::Engine(Error::Exists(_)))), "{other:?}");
}

#[tokio::test]
async fn what_makes_no_canvas_is_refused_and_nothing_is_stored() {
    let bench = bench().await;
    let text = || canvas_count.with("a".to_owned());
    let elsewhere = {
        let mut of = None;
        drop(chain![text()].then_with(|n| {
            of = Some(n.clone());
            canvas_double.with(n)
        }));
        canvas_double.with(of.unwrap())
    };
    for (canvas, rule) in [
        (chain![text().after(Duration::from_secs(1))], "starts when those before it have ended"),
        (chain![text().unique_key("k")], "no unique key"),
        (chain![text().depends_on("x")], "waits for those before it"),
        (chain![text().id("a/b")], "no `/`"),
        (chain![text().id("a"), canvas_count.with("b".to_owned()).id("a")], "there twice"),
        (chain![elsewhere], "not part of the same canvas"),
        (chain![text().queue("nowhere")], "queue nowhere does not exist"),
    ] {
        let refused = canvas.workflow().id("x").submit(bench.client()).await.unwrap_err().to_string();
        assert!(refused.contains(rule), "{rule}: {refused}");
    }
    assert!(bench.engine().workflow(&WorkflowId::new("x").unwrap()).await.unwrap().is_none());
    assert_eq!(bench.drain().await.unwrap().attempts(), 0);
}

#[tokio::test]
async fn a_task_that_is_repeated_spawns_nothing_twice() {
    let bench = bench().await;
    let fan = canvas_fan_out.with("a,b c,d e f".to_owned()).id("fan").submit(bench.client()).await.unwrap();
    let drained = bench.drain().await.unwrap();
    assert_eq!((drained.completed, drained.retried), (4, 1), "three children and what collects them");
    bench.advance(Duration::from_secs(3_600)).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 1);
    assert_eq!(bench.result::<String>(&fan.id).await.unwrap(), "fan/count/canvas_sum");
    assert_eq!(bench.result::<u64>(&"fan/count/canvas_sum".parse().unwrap()).await.unwrap(), 6);
    let long = "x".repeat(100);
    canvas_fan_out.with("a".to_owned()).id(long).submit(bench.client()).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 2, "ids that would be too long begin with a digest");
}

#[tokio::test]
async fn a_spawn_that_differs_from_the_first_fails() {
    let bench = bench().await;
    let fickle = canvas_fickle.delay(bench.client(), NoParameters).await.unwrap();
    bench.drain_scheduled().await.unwrap();
    let task = bench.engine().get(&fickle.id).await.unwrap().unwrap();
    assert_eq!(task.status, Status::Failed);
    assert!(task.errors[1].message.contains("must not change"), "{}", task.errors[1].message);
}

#[tokio::test]
async fn a_large_workflow_is_left_to_the_managers() {
    let engine = std::sync::Arc::new(ModelEngine::with_system_clock());
    let client = Client::new(engine.clone());
    let many = map(&canvas_count, (0..1_802).map(|n| n.to_string())).then(&canvas_sum);
    let run = many.workflow().submit(&client).await.unwrap();
    assert_eq!(run.state().await.unwrap(), Some(RunState::Submitting));
    let due = engine.due_workflows(10).await.unwrap().due;
    assert_eq!((due.len(), due[0].run.nodes), (1, 1_803), "a manager takes it at once");
}

#[tokio::test]
async fn a_group_knows_its_members() {
    assert!(words(&[]).is_empty());
    assert_eq!(words(&["a", "b"]).len(), 2);
    let split = chain![canvas_split.with("a,b".to_owned())];
    let bench = bench().await;
    let run = split.workflow().submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), ["a", "b"]);
}

#[task]
async fn canvas_label(ctx: Context, of: (ResultOf<u64>, ResultOf<Vec<String>>)) -> Result<String, TaskError> {
    Ok(format!("{} of {:?}", of.0.read(&ctx).await?, of.1.read(&ctx).await?))
}

#[tokio::test]
async fn parts_of_different_kinds_keep_their_types() {
    let bench = TestBench::new().await.unwrap();
    let both = || join((canvas_count.with("a b c".to_owned()), canvas_split.with("x,y".to_owned())));
    let run = both().then(&canvas_label).workflow().submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), r#"3 of ["x", "y"]"#);
    let third = join((both().then(&canvas_label), canvas_count.with("d".to_owned()), canvas_note.with(NoParameters)));
    let run = third.then_with(|(_, count, _)| canvas_double.with(count)).workflow();
    let run = run.submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    assert_eq!(run.result(Duration::ZERO).await.unwrap(), 2);
    let failing = join((canvas_count.with("bad".to_owned()), canvas_split.with("x".to_owned()))).then(&canvas_label);
    let run = failing.workflow().submit(bench.client()).await.unwrap();
    bench.drain().await.unwrap();
    run.result(Duration::ZERO).await.unwrap_err();
}
