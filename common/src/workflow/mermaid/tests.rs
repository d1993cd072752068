//! What flowcharts are read as, what is refused, and that what is written is read again.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::{
    dependency::{DependencyPolicy, signal::AwaitedSignal},
    lifecycle::Status,
    name::{NodeName, QueueName, TaskName},
    task::Priority,
    workflow::{NewNode, TaskTemplate, Workflow},
};

fn read_one(label: &str) -> Result<TaskTemplate, MermaidError> {
    let flowchart = read(&format!("flowchart TD\n a[\"{label}\"]"))?;
    Ok(flowchart.nodes.into_iter().next().unwrap().task)
}

#[test]
fn the_documented_flowchart_is_read() {
    let text = "%% nightly\nflowchart LR;\n  extract[\"etl.extract@2:io(path='a (1).csv', limit=10)\"] --> load[etl.load]\n\
                \n extract-->check[\"etl.check\"]:::done\n  load & check -->|both| report(\"mail.send\"); load -.-> alarm{\"mail.send\"}\n\
                classDef done fill:#fff\n  check ==> alarm\n %% at the end\n  subgraph x\n  end\n";
    let Flowchart { nodes, places } = read(text).unwrap();
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["extract", "load", "check", "report", "alarm"]);
    assert_eq!(places[0], Place { line: 3, column: 3 });
    let extract = &nodes[0].task;
    assert_eq!((extract.name.as_str(), extract.version), ("etl.extract", 2));
    assert_eq!(extract.queue.as_ref().map(QueueName::as_str), Some("io"));
    assert_eq!(extract.parameters.as_str(), r#"{"path":"a (1).csv","limit":10}"#);
    let on = |place: usize| -> Vec<(&str, DependencyPolicy)> {
        nodes[place].depends_on.iter().map(|(on, policy)| (on.as_str(), *policy)).collect()
    };
    assert_eq!(on(3), [("load", DependencyPolicy::AbortSuccessors), ("check", DependencyPolicy::AbortSuccessors)]);
    assert_eq!(on(4), [("load", DependencyPolicy::RunOnError), ("check", DependencyPolicy::RunWithFailures)]);
}

#[test]
fn values_keep_their_types_and_their_letters() {
    for (given, value) in [
        ("n=1", r#"{"n":1}"#),
        ("n=-1.5e3", r#"{"n":-1.5e3}"#),
        ("n=null, b=true", r#"{"n":null,"b":true}"#),
        ("n=00123", r#"{"n":"00123"}"#),
        ("n='true'", r#"{"n":"true"}"#),
        ("n=a b", r#"{"n":"a b"}"#),
        (r"n='it\'s (1), \\ done'", r#"{"n":"it's (1), \\ done"}"#),
        ("n=#quot;a, (b)#quot;", r#"{"n":"a, (b)"}"#),
        ("n=[1, {#quot;k#quot;: #quot;)#quot;}]", r#"{"n":[1, {"k": ")"}]}"#),
        ("n=~eyJhIjpbMV19", r#"{"n":{"a":[1]}}"#),
        ("n=100#35;", r##"{"n":"100#"}"##),
        ("{#quot;whole#quot;: 1.0}", r#"{"whole": 1.0}"#),
        ("", "{}"),
    ] {
        let task = read_one(&format!("t({given})")).unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!(task.parameters.as_str(), value, "{given}");
    }
    assert_eq!(read_one("t(n=1){completed}").unwrap(), read_one("t(n=1)").unwrap(), "a status is passed over");
}

#[test]
fn a_node_may_wait_for_signals() {
    let signals =
        |label: &str| -> Vec<String> { read_one(label).unwrap().signals.iter().map(ToString::to_string).collect() };
    assert_eq!(signals("t@2:q on approved"), ["approved"]);
    assert_eq!(signals("t(to=prod) on approved=1d on tested=2h,run{waiting}"), ["approved=1d", "tested=2h,run"]);
    assert_eq!(signals("t(about='turn on it')"), [""; 0]);
    assert_eq!(read_one("t@2:q on a").unwrap().queue.unwrap().as_str(), "q");
}

#[test]
fn a_node_may_end_by_itself() {
    for label in ["join spontaneous", "join@2:q(n=1) spontaneous on approved{waiting}"] {
        assert!(read_one(label).unwrap().is_spontaneous, "{label}");
    }
    assert!(!read_one("spontaneous").unwrap().is_spontaneous);
    let drawn = "flowchart TD\n    a[\"echo\"]\n    j[\"echo spontaneous on approved\"]\n    a --> j\n";
    let Flowchart { nodes, .. } = read(drawn).unwrap();
    assert_eq!(write(&Workflow::new(nodes).unwrap(), &[]), drawn);
}

#[test]
fn what_can_t_be_read_is_named_with_its_place() {
    for (text, line, column, says) in [
        ("", 1, 1, "empty"),
        ("sequenceDiagram", 1, 1, "begins with flowchart"),
        ("flowchart XX", 1, 11, "TD"),
        ("flowchart TD\n  a --> b", 2, 3, "node a has no task"),
        ("flowchart TD\n  a[\"t\"] -> b", 2, 10, "the arrows are"),
        ("flowchart TD\n  a[\"t\"] --> ", 2, 14, "a node was expected"),
        ("flowchart TD\n  a[\"t\"", 2, 8, "ends in \"]"),
        ("flowchart TD\n  a[\"t", 2, 5, "does not end in a quote"),
        ("flowchart TD\n  a[\"t(x)\"]", 2, 6, "key=value"),
        ("flowchart TD\n  a[\"t(x=1, x=2)\"]", 2, 6, "twice"),
        ("flowchart TD\n  a[\"t(x='a)\"]", 2, 6, "does not end in a quote"),
        ("flowchart TD\n  a[\"t(x=a'b)\"]", 2, 6, "single quotes"),
        ("flowchart TD\n  a[\"t(x=~!!)\"]", 2, 6, "base64"),
        ("flowchart TD\n  a[\"t@x\"]", 2, 6, "version"),
        ("flowchart TD\n  a[\"t(x=1) more\"]", 2, 6, "not expected"),
        ("flowchart TD\n  a[\"t(x=1) on\"]", 2, 6, "the name of a signal"),
        ("flowchart TD\n  a[\"t on s=soon\"]", 2, 6, "soon"),
        ("flowchart TD\n  a[\"t spontaneous spontaneous\"]", 2, 6, "not expected"),
        ("flowchart TD\n  a[\"t\"]\n  ä[\"u\"]", 3, 3, "a node was expected"),
        ("flowchart TD\n  a[\"t\"]\n  a[\"u\"]", 3, 6, "another label before"),
        ("flowchart TD\n  a[\"t\"] b[\"u\"]", 2, 10, "an arrow"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.place, Place { line, column }, "{text}: {error}");
        assert!(error.rule.contains(says), "{text}: {error}");
    }
}

#[test]
fn what_is_written_is_read_again() {
    let text = "flowchart TD\n a[\"t@3:q({#quot;k#quot;: [1.0, #quot;#35; (x)#quot;]}) on s=1h,run\"] --> b[\"u on s\"] -.-> c[\"v\"]\n a ==> c";
    let workflow = Workflow::new(read(text).unwrap().nodes).unwrap();
    for statuses in [&[][..], &[Status::Completed, Status::Failed, Status::Started]] {
        let written = write(&workflow, statuses);
        let again = Workflow::new(read(&written).unwrap_or_else(|error| panic!("{error}\n{written}")).nodes).unwrap();
        assert_eq!(again, workflow, "{written}");
    }
}

/// Names of nodes, among them ones that Mermaid reads as something else.
fn node_name() -> impl Strategy<Value = String> {
    let special = "end|class|style|graph|subgraph|click|call|direction|default|x|o|v|n0|n1|a--b|redirection|LR|TB|a-\\.b|a-|-a|a:::b|x--|1end|a:end|::|--|\\.-";
    prop_oneof!["[A-Za-z0-9._:-]{1,12}", special]
}

/// JSON documents, as their text is written.
fn document() -> impl Strategy<Value = String> {
    let special = "%%|%%\\{init|direction TB|#35;|#quot;|<b>|&amp;|`|'|\\)|\\]| on x| as y|-->|ä🦀";
    let text = prop_oneof![any::<String>(), "[ -~]{0,20}", special.prop_map(|text: String| text)];
    let text = text.prop_map(|text| serde_json::Value::from(text).to_string());
    let number = prop_oneof!["-?(0|[1-9][0-9]{0,30})", "[1-9]\\.[0-9]{1,30}", "[1-9]e[0-9]{1,4}"];
    let blank = prop_oneof![Just(""), Just(" "), Just("\n  "), Just("\t"), Just("\r\n")];
    let value = prop_oneof![text.clone(), number, Just("null".to_owned()), Just("{}".to_owned())];
    let pairs = proptest::collection::vec((text, blank, value.clone()), 0..4);
    let object = pairs.prop_map(|pairs| {
        let pairs: Vec<String> = pairs.into_iter().map(|(key, blank, value)| format!("{key}:{blank}{value}")).collect();
        format!("{{{}}}", pairs.join(", "))
    });
    let array = proptest::collection::vec(value.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(",")));
    prop_oneof![object, array, value]
}

fn task() -> impl Strategy<Value = TaskTemplate> {
    let name = prop_oneof!["[A-Za-z0-9._:/-]{1,20}", "[a-z]{1,5}:[a-z]{1,5}", "Mailer::[A-Z][a-z]{1,5}"];
    let queue = proptest::option::of("[A-Za-z0-9._:/-]{1,10}");
    let signals = proptest::collection::vec("[A-Za-z0-9._:/-]{1,6}(=[1-9]h(,run)?)?", 0..3);
    let is_spontaneous = proptest::bool::ANY;
    (name, 0_u32..4, queue, document(), signals, is_spontaneous).prop_map(
        |(name, version, queue, parameters, signals, is_spontaneous)| TaskTemplate {
            version,
            queue: queue.map(|queue| QueueName::new(queue).unwrap()),
            signals: signals.iter().map(|signal| signal.parse::<AwaitedSignal>().unwrap()).collect(),
            is_spontaneous,
            ..TaskTemplate::new(TaskName::new(name).unwrap(), RawValue::from_string(parameters).unwrap())
        },
    )
}

/// Workflows, each node after some of the earlier ones.
fn workflow() -> impl Strategy<Value = Workflow> {
    let policy = prop_oneof![
        Just(DependencyPolicy::AbortSuccessors),
        Just(DependencyPolicy::RunOnError),
        Just(DependencyPolicy::RunWithFailures),
    ];
    let node = (node_name(), task(), proptest::collection::vec(proptest::option::of(policy), 8));
    proptest::collection::vec(node, 1..8).prop_filter_map("a graph", |given| {
        let names: Vec<NodeName> = given.iter().map(|(name, _, _)| NodeName::new(name).unwrap()).collect();
        let node = |(place, (_, task, policies)): (usize, (String, TaskTemplate, Vec<Option<DependencyPolicy>>))| {
            let on = names[..place].iter().zip(policies).filter_map(|(on, policy)| Some((on.clone(), policy?)));
            NewNode { name: names[place].clone(), task, depends_on: on.collect() }
        };
        Workflow::new(given.into_iter().enumerate().map(node).collect()).ok()
    })
}

proptest! {
    #[test]
    fn what_is_written_of_any_workflow_is_read_as_the_same(workflow in workflow(), with_statuses in any::<bool>()) {
        let statuses = if with_statuses { vec![Status::Completed; workflow.len()] } else { Vec::new() };
        let written = write(&workflow, &statuses);
        let again = read(&written).map(|flowchart| Workflow::new(flowchart.nodes).unwrap());
        prop_assert_eq!(again.as_ref(), Ok(&workflow), "{}", written);
    }
}

#[test]
fn two_names_on_two_lines_set_no_direction() {
    for name in ["direction", "redirection"] {
        let edges = format!("LR[\"t\"] --> a[\"t as {name}\"]\n LR --> b[\"t\"]");
        let workflow = Workflow::new(read(&format!("flowchart TD\n {edges}\n")).unwrap().nodes).unwrap();
        assert_eq!(workflow.nodes()[1].name.as_str(), name);
        let written = write(&workflow, &[]);
        assert_eq!(read(&written).map(|again| Workflow::new(again.nodes).unwrap()), Ok(workflow), "{written}");
    }
}

#[test]
fn a_task_s_name_may_have_colons() {
    for (label, name, queue) in [
        ("email:deliver", "email:deliver", None),
        ("Mailer::Welcome(to=1)", "Mailer::Welcome", None),
        ("email:deliver@1:mail:fast", "email:deliver", Some("mail:fast")),
    ] {
        let task = read_one(label).unwrap();
        assert_eq!((task.name.as_str(), task.queue.as_ref().map(QueueName::as_str)), (name, queue), "{label}");
    }
}

#[test]
fn what_a_flowchart_leaves_out_is_said_in_it() {
    let mut nodes = read("flowchart TD\n a[\"t\"] --> b[\"t\"]").unwrap().nodes;
    assert!(!write(&Workflow::new(nodes.clone()).unwrap(), &[]).contains("%%"));
    nodes[1].task.priority = Priority::new(9).unwrap();
    let written = write(&Workflow::new(nodes).unwrap(), &[]);
    assert!(written.contains("%% not in this chart: the priorities, policies, keys and labels of b\n"), "{written}");
    assert!(read(&written).is_ok());
}

#[test]
fn what_may_follow_on_a_line_is_read() {
    let nodes = "a[\"t\"]; b[\"t\"]\n";
    for line in [
        "class a done; a --> b",
        "style a fill:red; a --> b",
        "linkStyle default color:red; a --> b",
        "classDef done fill:red; a --> b",
        "click a \"https://example.org/a;b\"; a --> b",
        "click a call say(\"a;b\"); a --> b",
        "subgraph one; a --> b; end",
        "subgraph one\n a\n end; a --> b",
        "subgraph one\n a\n end a --> b",
    ] {
        let flowchart = read(&format!("flowchart TD\n{nodes}{line}")).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(flowchart.nodes[1].depends_on.len(), 1, "{line}");
    }
}

#[test]
fn what_a_flowchart_makes_is_counted_while_it_is_read() {
    let list = |name: &str, nodes: usize| vec![name; nodes].join(" & ");
    let many = |pieces: usize, piece: &dyn Fn(usize) -> String| (0..pieces).map(piece).collect::<String>();
    for (chart, says) in [
        (format!("{} --> {}", list("a", 30_000), list("b", 30_000)), "at most 100000 edges"),
        (many(20_000, &|n| format!("a{n};")), "at most 10000 nodes"),
        (many(101, &|n| format!("subgraph s{n}\n")), "at most 100 subgraphs"),
    ] {
        let error = read(&format!("flowchart TD\n{chart}")).unwrap_err();
        assert!(error.rule.contains(says), "{error}");
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    // Pieces of flowcharts and what is none, put together at random, always in the same way.
    let pieces = [
        "flowchart TD\n",
        "graph LR;",
        "a",
        "b-c",
        " ",
        "\n",
        "[\"",
        "\"]",
        "(",
        ")",
        "{",
        "}",
        "-->",
        "-.->",
        "==>",
        "--",
        "t",
        "@2",
        ":q",
        "x=1",
        "x='",
        "'",
        ",",
        "~",
        "#quot;",
        "#",
        ";",
        "|",
        "&",
        ":::",
        "%%",
        "%%{init:",
        "}%%",
        "direction TB",
        "@{",
        "label: ",
        "~~~",
        "class a b",
        "style a b",
        "click a b",
        "---\n",
        "`",
        "\\",
        "ä",
        "\u{1f980}",
        "[",
        "]",
        "null",
        "1e999",
        "subgraph",
        "end",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    let mut is_read = 0;
    for _ in 0..20_000 {
        let mut text = if random(4) > 0 { "flowchart TD\n".to_owned() } else { String::new() };
        (0..random(14)).for_each(|_| text.push_str(pieces[random(pieces.len())]));
        is_read += usize::from(read(&text).is_ok());
    }
    assert!(is_read > 100, "{is_read} of them were flowcharts");
}
