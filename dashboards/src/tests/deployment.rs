//! The files that bring it all up: valid as far as that can be seen without containers, and naming only what is there.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;
use serde_json::Value;

use super::files::{here, names, text};

#[derive(Debug, Deserialize)]
struct Compose {
    services: BTreeMap<String, Service>,
    volumes: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Service {
    image: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    depends_on: Value,
    build: Option<Build>,
    #[serde(default)]
    volumes: Vec<String>,
    #[serde(default)]
    ports: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Build {
    context: String,
    dockerfile: String,
}

fn compose() -> Compose {
    serde_saphyr::from_str(&text("compose.yaml")).unwrap()
}

#[test]
fn prometheus_takes_its_configurations() {
    for name in names("prometheus", ".yml") {
        let file = here().join(format!("prometheus/{name}.yml"));
        let run = Command::new("promtool").args(["check", "config"]).arg(file).output().expect("promtool is installed");
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn every_file_and_volume_a_container_gets_is_there() {
    let compose = compose();
    for (name, service) in &compose.services {
        for mount in &service.volumes {
            let source = mount.split(':').next().unwrap();
            let known = if source.starts_with('.') {
                here().join(source).exists()
            } else {
                compose.volumes.contains_key(source)
            };
            assert!(known, "{name}: there is no {source}");
        }
        if let Some(build) = &service.build {
            assert!(here().join(&build.context).join(&build.dockerfile).is_file(), "{name}: {}", build.dockerfile);
        }
    }
}

#[test]
fn every_image_has_a_version_and_every_port_is_on_loopback() {
    for (name, service) in compose().services {
        let version = service.image.rsplit_once(':').map(|(_, version)| version);
        assert!(version.is_some_and(|version| version != "latest"), "{name}: {}", service.image);
        assert!(service.ports.iter().all(|port| port.starts_with("127.0.0.1:")), "{name}: {:?}", service.ports);
    }
}

/// The words around a command line or an address.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "\"'[]{},()<>`".contains(c))
}

#[test]
fn every_other_container_that_is_named_is_there() {
    let compose = compose();
    let there = |name: &str| compose.services.contains_key(name);
    for (name, service) in &compose.services {
        let needed: Vec<String> = match &service.depends_on {
            Value::Object(conditions) => conditions.keys().cloned().collect(),
            other => serde_json::from_value(other.clone()).unwrap_or_default(),
        };
        assert!(needed.iter().all(|other| there(other)), "{name} depends on {needed:?}");
        for (variable, value) in &service.environment {
            let Some((_, address)) = value.split_once("://") else { continue };
            let host = address.split([':', '/']).next().unwrap();
            assert!(there(host), "{name}: {variable} is at {host}, which is no container");
        }
    }
    for target in words(&text("prometheus/compose.yml")).chain(words(&text("collector.yaml"))) {
        if let Some((host, port)) = target.split_once(':')
            && port.parse::<u16>().is_ok()
        {
            assert!(host == "0.0.0.0" || there(host), "{target} is asked, and no container");
        }
    }
}

#[test]
fn what_is_scraped_and_sent_to_is_listened_on() {
    let compose = compose();
    let scraped = text("prometheus/compose.yml");
    for (name, port) in [("manager", "8000"), ("worker", "9464"), ("cleaner", "9465")] {
        let listens = format!("0.0.0.0:{port}");
        assert!(compose.services[name].command.contains(&listens), "{name} does not listen on {listens}");
        let target = format!("names: [{name}], type: A, port: {port},");
        assert!(scraped.contains(&target), "Prometheus has no {target:?}");
        assert!(text("prometheus/local.yml").contains(&format!("\"127.0.0.1:{port}\"")), "local.yml lacks {port}");
        assert!(text("../docs/guides/monitoring.md").contains(&format!("127.0.0.1:{port}")), "the guide lacks {port}");
    }
    let collector = text("collector.yaml");
    let endpoint = &compose.services["worker"].environment["OTEL_EXPORTER_OTLP_ENDPOINT"];
    for (address, of) in
        [(endpoint.as_str(), &collector), ("collector:8889", &collector), ("tempo:4317", &text("tempo.yaml"))]
    {
        let port = address.rsplit_once(':').unwrap().1;
        assert!(of.contains(&format!("endpoint: \"0.0.0.0:{port}\"")), "nobody listens for {address}");
    }
    assert!(scraped.contains("\"collector:8889\"") && collector.contains("tempo:4317"));
    let grafana = &compose.services["grafana"].environment;
    assert_eq!(
        (grafana["PROMETHEUS_URL"].as_str(), grafana["TEMPO_URL"].as_str()),
        ("http://prometheus:9090", "http://tempo:3200")
    );
    assert!(text("tempo.yaml").contains("http_listen_port: 3200"));
}

#[test]
fn what_the_comment_promises_is_published() {
    let promised: Vec<String> = text("compose.yaml")
        .lines()
        .take_while(|line| line.starts_with('#'))
        .flat_map(|line| words(line).map(str::to_owned).collect::<Vec<String>>())
        .filter_map(|word| Some(word.strip_prefix("http://localhost:")?.split('/').next()?.to_owned()))
        .collect();
    assert_eq!(promised, ["3000", "8000", "9090"]);
    let published: Vec<String> = compose().services.into_values().flat_map(|service| service.ports).collect();
    for port in &promised {
        assert!(published.contains(&format!("127.0.0.1:{port}:{port}")), "{port} is not published: {published:?}");
    }
    assert_eq!(published.len(), promised.len(), "{published:?}");
}

#[test]
fn every_flag_and_variable_of_our_programs_is_documented() {
    let documented = text("../docs/reference/configuration.md");
    let cli = text("../docs/reference/cli.md");
    for name in ["manager", "worker", "cleaner", "load"] {
        let service = &compose().services[name];
        for flag in service.command.iter().filter(|word| word.starts_with("--")) {
            assert!(documented.contains(&format!("`{flag}")), "{name}: {flag} is not in the reference");
        }
        for variable in service.environment.keys().filter(|name| !name.starts_with("OTEL_")) {
            let known = documented.contains(variable) || cli.contains(variable);
            assert!(known, "{name}: {variable} is not in the reference");
        }
    }
}

#[test]
fn every_configuration_beside_it_is_yaml() {
    let mut read = 0;
    for path in [
        "collector.yaml",
        "tempo.yaml",
        "provisioning/datasources/jobbers.yaml",
        "provisioning/dashboards/jobbers.yaml",
    ] {
        let document: Value = serde_saphyr::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        read += usize::from(document.is_object());
    }
    assert_eq!(read, 4);
}
