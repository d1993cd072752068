//! Every answer that a test of this suite is given fits the description of its operation.
//!
//! Clients are generated from that description: an answer of another shape than it says breaks them.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use boon::{Compiler, SchemaIndex, Schemas};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::server::Answer;

/// A compiled schema, by its place among the schemas that it refers to.
type Validator = Arc<(Schemas, SchemaIndex)>;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(jobbers_manager::openapi()).unwrap());
static VALIDATORS: LazyLock<Mutex<HashMap<String, Validator>>> = LazyLock::new(Mutex::default);

/// Fails the test when the answer is not as described. What is no operation of the API is passed over.
#[track_caller]
pub(crate) fn check(method: &Method, url: &Url, answer: &Answer) {
    if let Some((path, operation)) = operation(method, url.path()) {
        check_headers(&format!("{method} {path}"), operation, answer);
    }
    let media_type = answer.headers.get("content-type").map(|value| value.to_str().unwrap()).unwrap_or_default();
    let Some((path, operation)) = operation(method, url.path()) else { return };
    if !matches!(media_type, "application/json" | "application/problem+json") {
        return;
    }
    // Numbers beyond an `f64` come back as they were sent, and a validator can't hold them.
    let Ok(body) = serde_json::from_str::<Value>(&answer.text) else { return };
    // Not an operation's answer, but that there is none: of two paths that fit, only the other has the method.
    if body["code"] == "method_not_allowed" {
        return;
    }
    let (line, status) = (format!("{method} {path}"), answer.status.as_u16().to_string());
    let response = &operation["responses"][&status];
    assert!(response.is_object(), "{line} is not described to answer {status}: {}", answer.text);
    let schema = &response["content"][media_type]["schema"];
    assert!(schema.is_object(), "{line}: {status} is not described as {media_type}: {}", answer.text);
    let validator = validator(&format!("{line} {status}"), schema);
    if let Err(problems) = validator.0.validate(&body, validator.1) {
        panic!("{line}: {status} is not as described: {problems}: {}", answer.text);
    }
}

/// Headers that a client acts on are described where they come.
#[track_caller]
fn check_headers(line: &str, operation: &Value, answer: &Answer) {
    let status = answer.status.as_u16().to_string();
    for name in ["ETag", "Retry-After", "Location"] {
        let described = &operation["responses"][&status]["headers"][name];
        let is_fine = !answer.headers.contains_key(name) || described.is_object();
        assert!(is_fine, "{line}: the header {name} of {status} is not described");
    }
}

/// The operation that a path belongs to: the one that names most of it.
fn operation(method: &Method, asked: &str) -> Option<(&'static str, &'static Value)> {
    let method = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_lowercase() };
    let all = DOCUMENT["paths"].as_object().unwrap();
    let fitting = all.iter().filter(|(path, item)| item.get(&method).is_some() && fits(path, asked));
    let (path, item) = fitting.min_by_key(|(path, _)| path.matches('{').count())?;
    Some((path, &item[&method]))
}

fn fits(template: &str, asked: &str) -> bool {
    let (template, asked): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), asked.split('/').collect());
    template.len() == asked.len()
        && template.iter().zip(asked).all(|(part, asked)| part.starts_with('{') || *part == asked)
}

fn validator(key: &str, schema: &Value) -> Validator {
    let mut validators = VALIDATORS.lock().unwrap();
    let make = || {
        let whole = json!({"allOf": [schema], "components": DOCUMENT["components"]});
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("schema:answer", whole).unwrap();
        let index = compiler.compile("schema:answer", &mut schemas).unwrap_or_else(|error| panic!("{key}: {error:#}"));
        Arc::new((schemas, index))
    };
    Arc::clone(validators.entry(key.to_owned()).or_insert_with(make))
}

#[test]
fn an_answer_of_another_shape_is_noticed() {
    let url = |path: &str| Url::parse(&format!("http://manager{path}")).unwrap();
    let answer = |status: u16, body: Value| Answer {
        status: status.try_into().unwrap(),
        headers: [("content-type".parse().unwrap(), "application/json".parse().unwrap())].into_iter().collect(),
        text: body.to_string(),
    };
    let task =
        json!({"id": "a", "queue": "q", "status": "submitted", "created": true, "replaced": false, "updated": false});
    let fine = [task.clone(), json!({"tasks": [task]})];
    for body in fine {
        check(&Method::POST, &url("/tasks"), &answer(201, body));
    }
    for (status, body) in [(201, json!({"task": []})), (201, json!({"id": "a"})), (299, json!({}))] {
        let checked = std::panic::catch_unwind(|| check(&Method::POST, &url("/tasks"), &answer(status, body)));
        assert!(checked.is_err(), "{status}");
    }
    let (path, _) = operation(&Method::GET, "/dead-letter-queue/stats").unwrap();
    assert_eq!(path, "/dead-letter-queue/stats", "not the letter of a task called stats");
    assert_eq!(operation(&Method::GET, "/tasks/cancel").unwrap().0, "/tasks/{id}");
}
