//! Starting and stopping the whole system.

use crate::jobbers::{Running, Said, Service, Up, run, run_in, run_with};

#[test]
fn a_running_task_is_finished_when_the_system_is_told_to_stop() {
    let up = Up::start();
    up.jobbers(&["submit", "sleep", "seconds=1", "--id", "s"]).ok();
    while !up.jobbers(&["status", "s"]).ok().out.contains("started") {}
    up.terminate();
    let (status, folder) = up.ended();
    assert!(status.success(), "{status}");
    let again = Up::in_folder(folder, &[]);
    assert!(again.jobbers(&["status", "s"]).ok().out.contains("completed"));
}

#[test]
fn what_still_runs_at_the_drain_deadline_is_given_back_and_said_so() {
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--drain-deadline", "200ms", "--cancel-grace", "100ms"]);
    up.jobbers(&["submit", "sleep", "seconds=600", "--id", "s"]).ok();
    while !up.jobbers(&["status", "s"]).ok().out.contains("started") {}
    up.terminate();
    let (status, _folder) = up.ended();
    assert_eq!(status.code(), Some(75));
}

#[test]
fn commands_in_its_folder_find_the_system_and_its_store() {
    let up = Up::start();
    run_in(up.folder.path(), &["submit", "echo", "hello=world", "--id", "found", "--wait=30s"]).ok();
    let store = up.folder.path().canonicalize().unwrap().join("jobbers.db");
    let doctor = run_in(up.folder.path(), &["doctor"]).ok();
    assert!(doctor.out.contains(&format!("sqlite://{}", store.display())), "{doctor:?}");
    let marker = up.folder.path().join(".jobbers-up.json");
    assert!(marker.exists());
    up.terminate();
    let (_, _folder) = up.ended();
    assert!(!marker.exists());
}

/// Opened the store of the `jobbers up` in its folder, and logged why it opened this one.
#[track_caller]
fn opened(said: &Said, store: &str) {
    for words in [".jobbers-up.json", &*format!("opened the store store=\"{store}\"")] {
        assert!(said.err.contains(words), "{words}: {said:?}");
    }
}

#[test]
fn services_that_are_started_beside_it_open_its_store() {
    let up = Up::in_folder(
        tempfile::tempdir().unwrap(),
        &["--engine-url", "sqlite://elsewhere.db?synchronous=normal", "--no-worker"],
    );
    let folder = up.folder.path();
    let store = format!("sqlite://{}", folder.canonicalize().unwrap().join("elsewhere.db").display());
    up.jobbers(&["submit", "echo", "hello=world", "--id", "waits"]).ok();
    opened(&run_in(folder, &["worker", "--ttl", "1"]).ok(), &store);
    up.jobbers(&["status", "waits", "--wait=30s"]).ok();
    opened(&run_in(folder, &["cleaner", "--retention"]).ok(), &store);
    // It opens the store, and then finds its address taken.
    let taken = up.url.strip_prefix("http://").unwrap();
    opened(&run_in(folder, &["manager", "--listen", taken]).ends_with(69), &store);
    let printed = run_in(folder, &["worker", "--print-config"]).ok().out;
    assert!(printed.contains(&format!("{store}?synchronous=normal")), "{printed}");
    let journal = run_in(folder, &["export"]).ok().out;
    let imported = up.jobbers_fed(&["import", "-"], &journal).ok();
    assert!(imported.err.contains("elsewhere.db"), "{imported:?}");
    assert!(!folder.join("jobbers.db").exists());
    let named = run_in(folder, &["worker", "--print-config", "--engine-url", "sqlite://./jobbers.db"]).ok().out;
    assert!(named.contains("\"sqlite://./jobbers.db\""), "{named}");
}

#[test]
fn a_second_one_in_its_folder_is_a_further_manager_of_its_store() {
    let elsewhere = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", elsewhere.path().join("tasks.db").display());
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--engine-url", &url]);
    let second = Running::start(up.folder.path(), &["--no-worker"]);
    assert_ne!(second.url, up.url);
    up.jobbers(&["submit", "echo", "--id", "shared", "--manager", &second.url]).ok();
    // Commands go on finding the first, in its folder and beside its file.
    for folder in [&up.folder, &elsewhere] {
        run_in(folder.path(), &["status", "shared", "--wait=30s"]).ok();
    }
    assert!(!up.folder.path().join("jobbers.db").exists());
    assert!(elsewhere.path().join(".jobbers-up.json").exists());
}

#[test]
fn a_service_in_another_folder_names_the_store_that_it_created() {
    let up = Up::start();
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().canonicalize().unwrap().join("jobbers.db");
    let said = |words: &str| format!("{words} store=\"sqlite://{}\"", store.display());
    // It opens the store, and then finds its address taken.
    let first = run_in(folder.path(), &["manager", "--listen", up.url.strip_prefix("http://").unwrap()]).ends_with(69);
    assert!(first.err.contains(&said("created the store")), "{first:?}");
    let second = run_in(folder.path(), &["cleaner", "--retention"]).ok();
    assert!(second.err.contains(&said("opened the store")), "{second:?}");
}

#[test]
fn a_worker_in_another_folder_is_missing_where_its_user_looks() {
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--no-worker"]);
    let url = |folder: &tempfile::TempDir| {
        format!("sqlite://{}", folder.path().canonicalize().unwrap().join("jobbers.db").display())
    };
    let folder = tempfile::tempdir().unwrap();
    let (_worker, opened) = Service::worker(folder.path());
    assert!(opened.starts_with(&format!("store=\"{}\"", url(&folder))), "{opened}");
    up.jobbers(&["submit", "echo", "--id", "waits"]).ok();

    let explained = up.jobbers(&["explain", "waits"]).ok().out;
    for words in [&*format!("its store is {}", url(&up.folder)), "the store has no live worker"] {
        assert!(explained.contains(words), "{words}: {explained}");
    }
    let here = run_in(up.folder.path(), &["doctor"]).ok().out;
    for words in [&*url(&up.folder), &*up.url, "runs in this folder", "no worker is alive on this store"] {
        assert!(here.contains(words), "{words}: {here}");
    }
    // It is registered a moment after its store is there.
    let worker = loop {
        let report = run_in(folder.path(), &["doctor", "--json"]).ok().json();
        if let Some(worker) = report["sharers"]["workers"].get(0) {
            assert!(report["checks"][0]["seen"].as_str().unwrap().contains(&url(&folder)), "{report}");
            assert_eq!(report["sharers"]["managers"], serde_json::json!([]), "{report}");
            break worker.clone();
        }
    };
    assert!(worker["host"].is_string() && worker["pid"].is_u64(), "{worker}");
}

#[test]
fn an_address_or_a_store_that_can_t_be_had_is_said_in_one_sentence() {
    let up = Up::start();
    let address = up.url.strip_prefix("http://").unwrap();
    run_in(up.folder.path(), &["up", "--listen", address]).fails(69, "choose another address with --listen");
    run(&["up", "--listen", "0.0.0.0:0"]).fails(64, "--insecure");
    run(&["up", "--listen", "127.0.0.1:0", "--engine-url", "mysql://x"]).fails(64, "is not the address of a store");
    run(&["up", "--listen", "127.0.0.1:0", "--engine-url", "redis://127.0.0.1:1"])
        .fails(69, "the store redis://127.0.0.1:1");
    run(&["up", "--concurrency", "0"]).fails(64, "concurrency must be");
}

#[test]
fn without_a_worker_its_tasks_wait_for_one_that_is_started_beside_it() {
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--no-worker"]);
    up.jobbers(&["submit", "echo", "hello=world", "--id", "waits"]).ok();
    assert!(up.jobbers(&["explain", "waits"]).ok().out.contains("no live worker serves queue default"));
    up.terminate();
    let (status, folder) = up.ended();
    assert!(status.success(), "{status}");
    let again = Up::in_folder(folder, &["--role", "default"]);
    again.jobbers(&["status", "waits", "--wait=30s"]).ok();
    run(&["up", "--no-worker", "--role", "media"]).fails(2, "starts no worker that --role");
    // A variable is not refused: it is set for other commands too.
    let folder = tempfile::tempdir().unwrap();
    let up = ["up", "--no-worker", "--engine-url", "mongodb://db"];
    run_with(folder.path(), &up, &[("WORKER_ROLE", "media")]).fails(64, "mongodb");
}
