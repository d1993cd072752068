//! Workflows as Mermaid flowcharts, in and out.
//!
//! ```text
//! flowchart TD
//!     extract["etl.extract@2:io(path='a (1).csv', limit=10)"] --> load["etl.load"]
//!     extract --> check["etl.check"]
//!     load & check --> report["mail.send"]
//!     load -.-> alarm["mail.send(to='ops')"]
//! ```
//!
//! `-->` is `abort_successors`, `-.->` is `run_on_error`, `==>` is `run_with_failures`. A node's label describes its task
//! (see `label`). Comments, classes, styles, subgraphs and a status in braces at the end of a label are passed over, so
//! what [`write()`] wrote can be read again.

mod label;
mod read;
mod write;

pub use self::{read::read, write::write};
use super::NewNode;

/// A place in a text, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What can't be read of a flowchart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {rule}")]
pub struct MermaidError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub rule: String,
}

/// The nodes of a flowchart in the order in which they appear, and where.
#[derive(Debug)]
pub struct Flowchart {
    /// The nodes.
    pub nodes: Vec<NewNode>,
    /// Where each appears first.
    pub places: Vec<Place>,
}

/// Whether a line says nothing about the graph.
fn is_passed_over(line: &str) -> bool {
    let word = line.split([' ', '\t', ';']).next().unwrap_or_default();
    let words = ["classDef", "class", "style", "linkStyle", "click", "subgraph", "end", "direction", "---"];
    // A node may be called like one of these words: then an arrow or a label follows it.
    let rest = line[word.len()..].trim_start();
    line.starts_with("%%") || words.contains(&word) && !rest.starts_with(['-', '=', '[', '&'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dependency::DependencyPolicy,
        lifecycle::Status,
        name::QueueName,
        workflow::{TaskTemplate, Workflow},
    };

    fn read_one(label: &str) -> Result<TaskTemplate, MermaidError> {
        let flowchart = read(&format!("flowchart TD\n a[\"{label}\"]"))?;
        Ok(flowchart.nodes.into_iter().next().unwrap().task)
    }

    #[test]
    fn the_documented_flowchart_is_read() {
        let text = "%% nightly\nflowchart LR;\n  extract[\"etl.extract@2:io(path='a (1).csv', limit=10)\"] --> load[etl.load]\n\
                    \n extract-->check[\"etl.check\"]:::done\n  load & check -->|both| report(\"mail.send\"); load -.-> alarm{\"mail.send\"}\n\
                    classDef done fill:#fff\n  check ==> alarm %% at the end\n  subgraph x\n  end\n";
        let Flowchart { nodes, places } = read(text).unwrap();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["extract", "load", "check", "report", "alarm"]);
        assert_eq!(places[0], Place { line: 3, column: 3 });
        let extract = &nodes[0].task;
        assert_eq!((extract.name.as_str(), extract.version), ("etl.extract", 2));
        assert_eq!(extract.queue.as_ref().map(QueueName::as_str), Some("io"));
        assert_eq!(extract.parameters.as_str(), r#"{"limit":10,"path":"a (1).csv"}"#);
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
            ("n=-1.5e3", r#"{"n":-1500.0}"#),
            ("n=null, b=true", r#"{"b":true,"n":null}"#),
            ("n=00123", r#"{"n":"00123"}"#),
            ("n='true'", r#"{"n":"true"}"#),
            ("n=a b", r#"{"n":"a b"}"#),
            (r"n='it\'s (1), \\ done'", r#"{"n":"it's (1), \\ done"}"#),
            ("n=#quot;a, (b)#quot;", r#"{"n":"a, (b)"}"#),
            ("n=[1, {#quot;k#quot;: #quot;)#quot;}]", r#"{"n":[1,{"k":")"}]}"#),
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
    fn what_can_t_be_read_is_named_with_its_place() {
        for (text, line, column, says) in [
            ("", 1, 1, "empty"),
            ("sequenceDiagram", 1, 1, "begins with flowchart"),
            ("flowchart XX", 1, 11, "TD"),
            ("flowchart TD\n  a --> b", 2, 3, "node a has no task"),
            ("flowchart TD\n  a[\"t\"] -> b", 2, 10, "the arrows are"),
            ("flowchart TD\n  a[\"t\"] --> ", 2, 14, "a node was expected"),
            ("flowchart TD\n  a[\"t\"", 2, 8, "ends in \"]"),
            ("flowchart TD\n  a[\"t", 2, 4, "does not end in a quote"),
            ("flowchart TD\n  a[\"t(x)\"]", 2, 6, "key=value"),
            ("flowchart TD\n  a[\"t(x=1, x=2)\"]", 2, 6, "twice"),
            ("flowchart TD\n  a[\"t(x='a)\"]", 2, 6, "does not end in a quote"),
            ("flowchart TD\n  a[\"t(x=a'b)\"]", 2, 6, "single quotes"),
            ("flowchart TD\n  a[\"t(x=~!!)\"]", 2, 6, "base64"),
            ("flowchart TD\n  a[\"t@x\"]", 2, 6, "version"),
            ("flowchart TD\n  a[\"t(x=1) more\"]", 2, 6, "not expected"),
            ("flowchart TD\n  a[\"t(x=1) on\"]", 2, 6, "the name of a signal"),
            ("flowchart TD\n  a[\"t on s=soon\"]", 2, 6, "soon"),
            ("flowchart TD\n  a[\"t\"]\n  ä[\"u\"]", 3, 3, "a node was expected"),
            ("flowchart TD\n  a[\"t\"]\n  a[\"u\"]", 3, 4, "another label before"),
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
            let again =
                Workflow::new(read(&written).unwrap_or_else(|error| panic!("{error}\n{written}")).nodes).unwrap();
            assert_eq!(again, workflow, "{written}");
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
}
