//! `/v1`: every operation of the description is served below it, as it is without it.

use reqwest::{Client, Method};
use serde_json::Value;

use crate::server::Server;

/// What is compared of an answer: its status, its type, and the code of its problem.
type Outline = (u16, String, Value);

async fn outline(client: &Client, server: &Server, method: &Method, path: &str) -> Outline {
    let url = format!("http://{}{path}", server.address);
    let answer = client.request(method.clone(), url).json(&Value::Null).send().await.unwrap();
    let status = answer.status().as_u16();
    let kind = answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned()).unwrap_or_default();
    let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default();
    (status, kind, body["code"].clone())
}

/// Every operation of the description: its method, and its path with a name in place of each parameter.
fn operations() -> Vec<(Method, String)> {
    let document = serde_json::to_value(jobbers_manager::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let named: Vec<&str> = path.split('/').map(|part| if part.starts_with('{') { "x1" } else { part }).collect();
        let methods = item.as_object().unwrap().keys().filter_map(|key| key.to_uppercase().parse::<Method>().ok());
        methods.map(move |method| (method, named.join("/"))).collect::<Vec<_>>()
    });
    let standard = [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH];
    all.filter(|(method, _)| standard.contains(method)).collect()
}

#[tokio::test]
async fn every_operation_is_served_below_the_version_as_without_it() {
    let (bare, versioned) = (Server::start().await, Server::start().await);
    let client = jobbers_api::client::http_client().build().unwrap();
    let operations = operations();
    assert!(operations.len() > 60, "{}", operations.len());
    for (method, path) in operations {
        let expected = outline(&client, &bare, &method, &path).await;
        let found = outline(&client, &versioned, &method, &format!("/v1{path}")).await;
        assert_eq!(found, expected, "{method} {path}");
        assert_ne!(found.2, "not_found", "{method} {path} is no route");
    }
}

#[tokio::test]
async fn no_other_version_is_served_and_the_version_only_once() {
    let server = Server::start().await;
    for path in ["/v2/tasks", "/v1/v1/tasks", "/v1", "/v1tasks"] {
        server.get(path).await.refused(404, "not_found");
    }
    server.get("/v1/tasks?nonsense=1").await.refused(400, "invalid_parameter");
}
