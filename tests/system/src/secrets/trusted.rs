//! People whom a proxy signed in, in real processes: every manager believes the proxy's header from the proxy's address alone, and
//! follows the key of a person.

use std::{net::IpAddr, time::Duration};

use jobbers_api::client::http_client;
use jobbers_test_support::wait::until;
use reqwest::StatusCode;
use serde_json::Value;

use crate::{
    engines::Kind,
    secrets::keys::{create, keys},
    stack::{Manager, Stack},
};

/// A change is followed within a second; this much more is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where the proxy asks from, and where another client does.
const PROXY: [u8; 4] = [127, 0, 0, 2];
const ELSEWHERE: [u8; 4] = [127, 0, 0, 1];

on_both_engines!(a_person_whom_the_proxy_names_has_the_rights_of_their_key_at_every_manager);

/// The answer to a request over a connection from `from` that names `person`.
async fn get(manager: &Manager, from: [u8; 4], person: &str, path: &str) -> (StatusCode, Value) {
    let client = http_client().local_address(IpAddr::from(from)).build().unwrap();
    let request = client.get(format!("http://{}{path}", manager.address)).header("remote-user", person);
    let answer = request.send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn a_person_whom_the_proxy_names_has_the_rights_of_their_key_at_every_manager(kind: Kind) {
    let stack = Stack::on(kind).await;
    let trusting = [("MANAGER_TRUSTED_HEADER", "Remote-User"), ("MANAGER_TRUSTED_FROM", "10.0.0.5,127.0.0.2")];
    let managers = [stack.manager_with(&trusting).await, stack.manager_with(&trusting).await];
    let text = create(&stack, "ada", "viewer").await;
    for manager in &managers {
        until(PATIENCE, "the key is followed", async || {
            let (status, _) = get(manager, ELSEWHERE, "ada", "/queues").await;
            (status == StatusCode::UNAUTHORIZED).then_some(())
        })
        .await;
        assert_eq!(get(manager, PROXY, "ada", "/queues").await.0, StatusCode::OK);
        let (status, problem) = get(manager, PROXY, "root", "/queues").await;
        assert_eq!((status, problem["code"].as_str()), (StatusCode::FORBIDDEN, Some("identity_unknown")), "{problem}");
        let (status, problem) = get(manager, PROXY, "ada", "/keys").await;
        assert_eq!((status, problem["code"].as_str()), (StatusCode::FORBIDDEN, Some("scope_missing")), "{problem}");
    }
    keys(&stack, &["revoke", text.split('_').nth(1).unwrap(), "--yes"]).await;
    for manager in &managers {
        until(PATIENCE, "the revocation is followed", async || {
            (get(manager, PROXY, "ada", "/queues").await.0 == StatusCode::FORBIDDEN).then_some(())
        })
        .await;
    }
    println!("{}", stack.examined().await);
}
