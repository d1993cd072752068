//! A manager behind TLS: which certificates are trusted, and the error for others.

use jobbers_test_support::{
    authority::Authority,
    redis_server::{Persistence, RedisOptions, RedisServer},
    tls::front::TlsFront,
};

use crate::jobbers::{Said, Up, run_with, said};

/// A system without certificate authorities, as a small container is one.
const BARE: [(&str, &str); 2] = [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("SSL_CERT_DIR", "/nowhere")];

#[test]
fn a_system_without_authorities_uses_plain_http_and_says_what_https_needs() {
    // Telemetry goes to a collector that is away, which stops nothing.
    for protocol in ["http/protobuf", "grpc"] {
        let otlp = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"), ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
        let up = Up::start_with(tempfile::tempdir().unwrap(), &[], &[&BARE[..], &otlp].concat());
        let jobbers = |arguments: &[&str]| said(up.client(arguments).envs(BARE).output().unwrap());
        jobbers(&["submit", "echo", "a=1", "--id", "a", "--wait"]).ok();
        jobbers(&["queues"]).ok();
        let https = ["queues", "--manager", "https://127.0.0.1:9"];
        jobbers(&https).fails(2, "install its package ca-certificates, or name a file of them with SSL_CERT_FILE");
    }
}

#[test]
fn a_collector_behind_tls_that_can_t_be_checked_is_said_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for protocol in ["http/protobuf", "grpc"] {
        let otlp = [("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:9"), ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
        let up = run_with(folder.path(), &["up", "--listen", "127.0.0.1:0"], &[&BARE[..], &otlp].concat());
        let said = up.ends_with(64);
        assert!(said.err.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && said.err.contains("ca-certificates"), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_behind_tls_needs_no_authority_but_the_one_that_its_address_names() {
    let (redis, authority) = (
        RedisServer::start(RedisOptions { persistence: Persistence::EverySecond, ..RedisOptions::default() }),
        Authority::new(),
    );
    let front = TlsFront::start(redis.address(), &authority).await;
    let place = front.url().replace("https://", "rediss://");
    let ca = authority.file("ca.pem");
    let folder = tempfile::tempdir().unwrap();
    let named = format!("{place}?ca={}", ca.display());
    let up = Up::start_with(folder, &["--engine-url", &named], &BARE);
    up.jobbers(&["submit", "echo", "a=1", "--wait"]).ok();
    let unnamed = run_with(up.folder.path(), &["doctor", "--engine-url", &place], &BARE);
    assert!(unnamed.code != Some(0) && unnamed.err.contains("name them with ?ca=FILE"), "{unnamed:?}");
    // Without a name, those of the system count.
    let variables = [("SSL_CERT_FILE", ca.to_str().unwrap())];
    run_with(up.folder.path(), &["doctor", "--engine-url", &place], &variables).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_behind_tls_is_spoken_to_when_its_authority_is_trusted() {
    let (up, authority) = (Up::start(), Authority::new());
    let address = up.url.strip_prefix("http://").unwrap().parse().unwrap();
    let front = TlsFront::start(address, &authority).await;
    let jobbers = |arguments: &[&str], trusted: &str| -> Said {
        let mut command = up.client(arguments);
        command.env("JOBBERS_URL", front.url()).env("SSL_CERT_FILE", authority.file(trusted));
        said(command.output().unwrap())
    };
    jobbers(&["submit", "echo", "greeting=hello", "--id", "a", "--wait"], "ca.pem").ok();
    let shown = jobbers(&["status", "a", "--json"], "ca.pem").ok().json();
    assert_eq!((shown["status"].as_str(), shown["result"]["greeting"].as_str()), (Some("completed"), Some("hello")));
    jobbers(&["status", "a"], "client.pem").fails(69, "certificate");
}
