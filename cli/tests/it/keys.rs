//! Keys by the store's address, at a manager, and from a file at the start.

use std::fs;

use serde_json::Value;

use crate::jobbers::{Running, Said, run, run_in, run_with};

/// A key's text and its id.
fn issued(said: &Said) -> (String, String) {
    let text = said.out.trim().to_owned();
    let id = text.split('_').nth(1).unwrap().to_owned();
    (text, id)
}

#[test]
fn keys_are_changed_at_a_manager_as_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let here = |arguments: &[&str]| run_in(folder.path(), arguments);
    fs::write(at("ops.key"), here(&["keys", "create", "ops", "--role", "admin"]).ok().out).unwrap();
    let up = Running::start(folder.path(), &["--no-worker"]);
    let asked = |arguments: &[&str]| {
        let (action, rest) = arguments.split_first().unwrap();
        let (url, file) = (up.url.as_str(), at("ops.key"));
        here(&[&["keys", action, "--manager", url, "--key-file", &file], rest].concat())
    };
    let made = asked(&["create", "ci", "--role", "viewer", "--queue", "mail"]).ok();
    let (text, id) = issued(&made);
    assert!(made.err.contains("it is not shown again") && made.err.contains(&up.url), "{made:?}");
    fs::write(at("ci.key"), &text).unwrap();
    let by_ci = || here(&["queues", "show", "mail", "--manager", &up.url, "--key-file", &at("ci.key")]);
    by_ci().fails(1, "mail does not exist");
    let both = [asked(&["list", "--json"]).ok().json(), here(&["keys", "list", "--json"]).ok().json()];
    assert_eq!(both[0], both[1]);
    let named =
        |name: &str| both[0]["keys"].as_array().unwrap().iter().find(|key| key["name"] == name).cloned().unwrap();
    assert_eq!((&named("ci")["created_by"], &named("ci")["queues"][0]), (&Value::from("ops"), &Value::from("mail")));
    assert!(named("ops")["last_used_at"].is_string(), "{both:?}");
    let (second, same) = issued(&asked(&["rotate", &id, "--keep", "0s"]).ok());
    assert_eq!(same, id);
    let is_replaced = || by_ci().err.contains("has another secret");
    while !is_replaced() {}
    fs::write(at("ci.key"), &second).unwrap();
    while !by_ci().err.contains("mail does not exist") {}
    asked(&["delete", &id]).fails(1, "revoke it first");
    asked(&["revoke", &id, "--yes"]).ok();
    assert!(asked(&["show", &id]).ok().out.contains("revoked"));
    asked(&["delete", &id]).ok();
    asked(&["show", &id]).fails(1, "does not exist");
    here(&["keys", "--manager", &up.url]).fails(1, "key_required");
    let both = ["keys", "--manager", &up.url, "--engine-url", "sqlite://jobbers.db"];
    here(&both).fails(2, "leave out --manager");
    // The store of the environment is for other commands.
    run_with(folder.path(), &both[..3], &[("ENGINE_URL", "sqlite://jobbers.db")]).fails(1, "key_required");
}

#[test]
fn an_installation_starts_with_the_key_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, text) = (folder.path().join("first.key"), run(&["keys", "make"]).ok().out);
    let file_name = file.to_str().unwrap();
    let first = [("JOBBERS_BOOTSTRAP_KEY_FILE", file_name)];
    let up = ["up", "--no-worker", "--listen", "127.0.0.1:0"];
    run_with(folder.path(), &up, &first).fails(64, "bootstrap_key_file");
    fs::write(&file, "secret").unwrap();
    run_with(folder.path(), &up, &first).fails(64, "jobbers keys make");
    fs::write(&file, &text).unwrap();
    for _ in 0..2 {
        let up = Running::start_with(folder.path(), &["--no-worker"], &first);
        run_in(folder.path(), &["queues", "--manager", &up.url]).fails(1, "key_required");
        run_in(folder.path(), &["queues", "--manager", &up.url, "--key-file", file_name]).ok();
    }
    let listed = run_in(folder.path(), &["keys", "--json"]).ok().json();
    let keys = listed["keys"].as_array().unwrap();
    assert_eq!((keys.len(), &keys[0]["name"], &keys[0]["role"]), (1, &Value::from("bootstrap"), &Value::from("admin")));
}

#[test]
fn a_profile_has_the_manager_and_its_key() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("ops.key"),
        run_in(folder.path(), &["keys", "create", "ops", "--role", "admin"]).ok().out,
    )
    .unwrap();
    let up = Running::start(folder.path(), &["--no-worker"]);
    let profiles = folder.path().join("profiles.toml");
    let text = format!("[here]\nmanager = {:?}\nkey_file = \"ops.key\"\n\n[bare]\nmanager = {:?}\n", up.url, up.url);
    fs::write(&profiles, text).unwrap();
    let file = ("JOBBERS_PROFILES", profiles.to_str().unwrap());
    let with =
        |arguments: &[&str], more: &[(&str, &str)]| run_with(folder.path(), arguments, &[&[file], more].concat());
    with(&["queues", "--profile", "here"], &[("JOBBERS_URL", "http://127.0.0.1:1")]).ok();
    with(&["queues"], &[("JOBBERS_PROFILE", "here")]).ok();
    with(&["keys", "list", "--profile", "here"], &[]).ok();
    let of_environment = fs::read_to_string(folder.path().join("ops.key")).unwrap();
    with(&["queues", "--profile", "bare"], &[("JOBBERS_KEY", of_environment.trim())]).fails(1, "key_required");
    with(&["queues", "--profile", "there"], &[]).fails(2, "there are: bare, here");
    with(&["queues", "--profile", "here", "--manager", &up.url], &[]).ends_with(2);
    run_with(folder.path(), &["queues", "--profile", "here"], &[("JOBBERS_PROFILES", "none.toml")])
        .fails(2, "does not exist");
}
