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
