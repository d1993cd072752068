//! What the guide to production sets up in ten commands, followed as it is printed: TLS, keys, two managers behind nginx, three
//! workers, Redis as a user with few rights, and Prometheus.

use std::{fs, net::TcpListener};

use crate::documents::guide::{Session, commands, workspace};

const HEADING: &str = "## All of it, in ten commands\n";
/// Where the guide has its services: each gets a free port here.
const PORTS: [&str; 8] = ["6380", "8001", "8002", "8443", "9101", "9102", "9103", "9190"];

/// The section of the guide.
fn section() -> String {
    let guide = fs::read_to_string(workspace().join("docs/guides/production.md")).unwrap();
    let (_, rest) = guide.split_once(HEADING).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// Free ports, each of which contains no port of the guide, so that none is replaced twice. They are below those that the system
/// gives to clients, because a service takes its port only seconds later.
fn ports() -> impl Iterator<Item = String> {
    let first = 20_000 + u16::try_from(std::process::id() % 1_000).unwrap() * 10;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let free = (first..first + 2_000).filter(is_free).map(|port| port.to_string());
    free.filter(|port| !PORTS.iter().any(|documented| port.contains(documented)))
}

#[test]
fn the_user_of_redis_is_the_one_that_the_suite_runs_as() {
    let redis = fs::read_to_string(workspace().join("docs/guides/redis.md")).unwrap();
    let user = |text: &str| text.lines().find(|line| line.starts_with("user jobbers ")).map(str::to_owned);
    assert!(user(&redis).is_some());
    assert_eq!(user(&section()), user(&redis));
}

#[test]
fn an_installation_is_set_up_in_ten_commands_and_outlives_a_manager() {
    let section = section();
    let block: Vec<&str> = section.split("```sh\n").nth(1).unwrap().lines().take_while(|line| *line != "```").collect();
    assert_eq!(commands(&block).len(), 10);

    let mut session = Session::new();
    let ports: Vec<(&str, String)> = PORTS.into_iter().zip(ports()).collect();
    for (documented, real) in &ports {
        session.place(documented, real);
    }
    let real = |documented: &str| &ports.iter().find(|(known, _)| *known == documented).unwrap().1;
    session.go_through(&section, &[("jobbers submit fail ", 1)]);
    assert!(session.told("jobbers submit echo").contains("hello"), "{session:?}");
    assert!(session.told("jobbers dlq list").contains("no user 17"));
    let keys = session.told("jobbers keys list");
    assert!(keys.contains("ops") && keys.contains("prometheus") && keys.contains("metrics:read"), "{keys}");
    assert!(session.told("curl -s --cacert").contains(r#""name":"default""#));

    // Each manager answers for the dead letters, one of them with what the other keeps. For a second nginx asks none that was
    // not up when the other was.
    let listed = r#"until grep -q '"GET /dead-letter-queue.* 200 from 127.0.0.1:8001 in' access.log \
        && grep -q '"GET /dead-letter-queue.* 200 from 127.0.0.1:8002 in' access.log
        do jobbers dlq list | grep 'no user 17' || exit; done"#;
    session.type_in(listed, &[]);
    let log = fs::read_to_string(session.folder.join("access.log")).unwrap();
    let asked: Vec<&str> = log.lines().filter(|line| line.contains("\"GET /dead-letter-queue")).collect();
    for manager in ["8001", "8002"] {
        let answer = format!(" 200 from 127.0.0.1:{}", real(manager));
        assert!(asked.iter().any(|line| line.contains(&answer)), "{manager}: {log}");
    }

    // Without the key it is refused, and Prometheus reads two managers and three workers.
    let refused = "curl -s --cacert ca.pem https://localhost:8443/queues";
    let read =
        r#"until curl -s 'http://127.0.0.1:9190/api/v1/query?query=sum(up)' | grep -q ',"5"]'; do sleep 0.2; done"#;
    session.type_in(refused, &[]);
    assert!(session.told(refused).contains("key_required"));
    session.type_in(read, &[]);

    // A manager is gone: its clients notice nothing.
    let kill = r"for it in /proc/[0-9]*; do
        tr '\0' ' ' < $it/cmdline | grep -q '^jobbers manager .*:8002 ' && kill -9 ${it#/proc/} && exit
    done 2>/dev/null; exit 1";
    let submit = "for n in 1 2 3 4 5 6; do jobbers submit echo n=$n --wait || exit; done";
    session.type_in(kill, &[]);
    session.type_in(submit, &[]);
    assert_eq!(session.told(submit).matches("completed").count(), 6, "{}", session.told(submit));
    session.end();
}
