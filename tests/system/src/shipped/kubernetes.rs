//! What `deploy/kubernetes` starts: the commands of its containers with their settings, on a Redis and with a certificate of the
//! test.

use std::{fs, path::Path, time::Duration};

use jobbers_test_support::{authority::Authority, port::free_port, program::Program, wait::until};
use nix::sys::signal::Signal;

use crate::{engines::Kind, stack::Stack};

/// A bound, not a measurement.
const LONG: Duration = Duration::from_secs(60);

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The container of a manifest: its command, and its settings but those from a secret.
struct Container {
    command: Vec<String>,
    settings: Vec<(String, String)>,
}

impl Container {
    /// Reads the one of a manifest, with what the cluster gives it replaced.
    fn of(name: &str, replaced: &[(&str, String)]) -> Self {
        let text = replaced.iter().fold(read(name), |text, (from, to)| text.replace(from, to));
        let lines = || text.lines().map(str::trim);
        let list = lines().find_map(|line| line.strip_prefix("command: [")?.strip_suffix(']')).unwrap();
        let command = list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect();
        let setting = |line: &str| {
            let (name, value) = line.strip_prefix("- {name: ")?.strip_suffix('}')?.split_once(", value: ")?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        };
        assert!(text.contains("secretKeyRef: {name: jobbers-store, key: url}"), "{name}");
        Self { command, settings: lines().filter_map(setting).collect() }
    }

    fn start(&self, stack: &Stack) -> Program {
        let mut environment = vec![("ENGINE_URL", stack.url())];
        environment.extend(self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let (program, arguments) = self.command.split_first().unwrap();
        Program::start(program, stack.folder(), arguments, &environment)
    }
}

fn port_in(line: &str) -> &str {
    let (_, address) = line.rsplit_once("address=127.0.0.1:").unwrap();
    address.split_whitespace().next().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_manifests_start_runs_a_task_and_stops_in_good_order() {
    let (stack, authority) = (Stack::on(Kind::Redis).await, Authority::new());
    let run = async |line: &[&str]| {
        let mut command = Program::start("jobbers", stack.folder(), line, &[]);
        let succeeds = command.exit().await.success();
        (succeeds, command.said())
    };
    let mut made = Program::start("jobbers", stack.folder(), &["keys", "make"], &[]);
    let key = made.line("jb_").await;
    assert!(made.exit().await.success());
    fs::write(stack.folder().join("first.key"), key).unwrap();
    let path = |name: &str| stack.folder().join(name).display().to_string();
    let file = |name: &str| authority.file(name).display().to_string();
    let keeper_at = format!("localhost:{}", free_port());
    let listening = |address: &str| {
        vec![
            ("/tls/tls.crt", file("server.pem")),
            ("/tls/tls.key", file("server.key")),
            ("/tls/ca.crt", file("ca.pem")),
            ("/bootstrap/key", path("first.key")),
            ("/data/", path("")),
            ("jobbers-keeper-0.jobbers-keeper:8000", keeper_at.clone()),
            ("0.0.0.0:8000", address.to_owned()),
        ]
    };
    let keeper = Container::of("keeper.yaml", &listening(&keeper_at.replace("localhost", "127.0.0.1"))).start(&stack);
    keeper.line("this manager keeps the archive").await;
    let manager = Container::of("manager.yaml", &listening("127.0.0.1:0")).start(&stack);
    let port = port_in(&manager.line("listening address=").await).to_owned();
    let [worker, cleaner] = ["worker.yaml", "cleaner.yaml"].map(|name| {
        let mut container = Container::of(name, &[]);
        container.command.iter_mut().for_each(|word| {
            if word.starts_with("0.0.0.0:") {
                "127.0.0.1:0".clone_into(word);
            }
        });
        container.start(&stack)
    });
    worker.line("worker started").await;
    let url = format!("https://localhost:{port}?ca={}", file("ca.pem"));
    let asked = ["--manager", url.as_str(), "--key-file", "first.key"];
    let (succeeds, said) = run(&[&["submit", "echo", "--id", "a", "--wait=60s"], &asked[..]].concat()).await;
    assert!(succeeds, "{said}");
    // The manager has no archive: it asks the keeper, at the address that the keeper gives.
    until(LONG, "a manager without the archive answers for it", async || {
        let (succeeds, _) = run(&[&["audit"], &asked[..]].concat()).await;
        succeeds.then_some(())
    })
    .await;
    let (succeeds, said) = run(&[&["queues"], &asked[..2]].concat()).await;
    assert!(!succeeds && said.contains("key_required"), "{said}");
    for mut program in [manager, keeper, worker, cleaner] {
        program.signal(Signal::SIGTERM);
        assert_eq!(program.exit().await.code(), Some(0), "{}", program.said());
    }
}

/// What a cluster's policies ask of each container, and what keeps an installation up.
#[test]
fn each_container_is_restricted_probed_and_has_time_to_stop() {
    let resources = read("kustomization.yaml");
    for name in ["keeper.yaml", "manager.yaml", "worker.yaml", "cleaner.yaml"] {
        assert!(resources.contains(name), "{name}");
        let text = read(name);
        for line in [
            "runAsNonRoot: true",
            "allowPrivilegeEscalation: false",
            "readOnlyRootFilesystem: true",
            "capabilities: {drop: [ALL]}",
            "seccompProfile: {type: RuntimeDefault}",
            "automountServiceAccountToken: false",
            "path: /health/ready",
            "path: /health/live",
            "terminationGracePeriodSeconds: ",
            "limits: {memory: ",
        ] {
            assert!(text.contains(line), "{name}: {line}");
        }
    }
    let has_budget = |name: &str| read(name).contains("kind: PodDisruptionBudget");
    assert!(has_budget("manager.yaml") && has_budget("worker.yaml"));
}
