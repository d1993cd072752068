//! Speaking TLS to the server: whom it trusts, what it shows of itself, and what it says when that does not fit.

use std::{fs, time::Duration};

use jobbers_common::{engine::Error, lifecycle::Status};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{DONE, Fixture, ids};
use jobbers_test_support::{
    authority::Authority,
    port::free_port,
    redis_fleet::{NAME, start_sentinel_with_tls},
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

use super::connect;

/// A server that speaks TLS on the port that is answered, and demands certificates of its clients or does not.
pub(super) fn server(authority: &Authority, demands: bool) -> (RedisServer, u16) {
    server_with(authority, demands, &[])
}

/// The same with further arguments.
fn server_with(authority: &Authority, demands: bool, further: &[&str]) -> (RedisServer, u16) {
    let port = free_port();
    let file = |name: &str| authority.file(name).to_str().unwrap().to_owned();
    let arguments = [
        ["--tls-port", &port.to_string()],
        ["--tls-cert-file", &file("server.pem")],
        ["--tls-key-file", &file("server.key")],
        ["--tls-ca-cert-file", &file("ca.pem")],
        ["--tls-auth-clients", if demands { "yes" } else { "no" }],
    ];
    let arguments = [&arguments.concat(), further].concat().into_iter().map(str::to_owned).collect();
    (RedisServer::start(RedisOptions { arguments, ..RedisOptions::default() }), port)
}

/// A parameter of an address.
pub(super) fn parameter(authority: &Authority, name: &str, file: &str) -> String {
    format!("{name}={}", authority.file(file).display())
}

/// Why the store can't be opened there, which it finds by itself.
async fn refusal(url: &str) -> Error {
    let opened = tokio::time::timeout(Duration::from_secs(30), RedisEngine::open(url, OpenOptions::default())).await;
    match opened.unwrap() {
        Ok(_) => panic!("{url} should not open"),
        Err(error) => error,
    }
}

async fn run_one(f: &Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim(1).await;
    assert_eq!(ids(&claimed), ["a"]);
    f.settle(&claimed[0], DONE).await;
    assert_eq!(f.count(Status::Completed).await, 1);
}

#[tokio::test]
async fn a_server_whose_authority_is_named_is_spoken_to() {
    let authority = Authority::new();
    let (_server, port) = server(&authority, false);
    let url = format!("rediss://localhost:{port}/1?{}&prefix=safe", parameter(&authority, "ca", "ca.pem"));
    run_one(&connect(&url).await).await;
}

#[tokio::test]
async fn a_server_nobody_vouches_for_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (_server, port) = server(&authority, false);
    for trusted in [String::new(), parameter(&other, "ca", "ca.pem")] {
        let error = refusal(&format!("rediss://localhost:{port}?{trusted}")).await;
        assert!(matches!(&error, Error::Config(why) if why.contains("certificate")), "{error:?}");
    }
    let elsewhere = format!("rediss://127.0.0.1:{port}?{}", parameter(&authority, "ca", "ca.pem"));
    let error = refusal(&elsewhere).await;
    assert!(matches!(&error, Error::Config(why) if why.contains("certificate")), "of another name: {error:?}");
}

#[tokio::test]
async fn a_server_that_demands_a_certificate_is_shown_one() {
    let authority = Authority::new();
    let (_server, port) = server(&authority, true);
    let url = format!("rediss://localhost:{port}?{}", parameter(&authority, "ca", "ca.pem"));
    let error = refusal(&url).await;
    assert!(matches!(&error, Error::Config(why) if why.contains("ertificate")), "{error:?}");
    let shown = [parameter(&authority, "cert", "client.pem"), parameter(&authority, "key", "client.key")];
    run_one(&connect(&format!("{url}&{}", shown.join("&"))).await).await;
    let error = refusal(&format!("{url}&{}", shown[0])).await;
    assert!(matches!(&error, Error::Config(why) if why.contains("key=FILE")), "{error:?}");
}

#[tokio::test]
async fn the_wrong_file_in_the_address_is_named() {
    let authority = Authority::new();
    fs::write(authority.file("empty.pem"), "").unwrap();
    for (name, file) in [("ca", "server.key"), ("cert", "client.key"), ("key", "client.pem"), ("ca", "empty.pem")] {
        let error = refusal(&format!("rediss://localhost?{}", parameter(&authority, name, file))).await;
        assert!(matches!(&error, Error::Config(why) if why.contains(file)), "{error:?}");
    }
}

#[tokio::test]
async fn tls_and_plain_text_do_not_understand_each_other_and_it_is_said() {
    let authority = Authority::new();
    let (server, port) = server(&authority, false);
    let plain = format!("rediss://localhost:{}?{}", server.address().port(), parameter(&authority, "ca", "ca.pem"));
    let error = refusal(&plain).await;
    assert!(matches!(&error, Error::Unavailable { reason, .. } if reason.contains("its port for TLS")), "{error:?}");
    let error = refusal(&format!("redis://localhost:{port}")).await;
    assert!(matches!(&error, Error::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn sentinels_and_the_primary_that_they_name_are_spoken_to() {
    let authority = Authority::new();
    let (_server, primary) = server(&authority, false);
    let (_sentinel, port) = start_sentinel_with_tls(primary, &authority);
    let ca = parameter(&authority, "ca", "ca.pem");
    run_one(&connect(&format!("rediss+sentinel://localhost:{port}/{NAME}?{ca}")).await).await;
    let stranger = Authority::new();
    let other = parameter(&stranger, "ca", "ca.pem");
    let error = refusal(&format!("rediss+sentinel://localhost:{port}/{NAME}?{other}")).await;
    assert!(matches!(&error, Error::Config(why) if why.contains("certificate")), "{error:?}");
    let plain = refusal(&format!("redis+sentinel://localhost:{port}/{NAME}")).await;
    assert!(matches!(&plain, Error::Config(_) | Error::Unavailable { .. }), "{plain:?}");
}

#[tokio::test]
async fn a_node_of_a_cluster_is_spoken_to_under_the_name_that_another_one_gives_it() {
    let authority = Authority::new();
    let (certificate, key) = (authority.file("client.pem"), authority.file("client.key"));
    // Nodes show each other the certificates of clients.
    let named = [
        ["--cluster-enabled", "yes"],
        ["--cluster-announce-hostname", "localhost"],
        ["--cluster-preferred-endpoint-type", "hostname"],
        ["--tls-cluster", "yes"],
        ["--tls-client-cert-file", certificate.to_str().unwrap()],
        ["--tls-client-key-file", key.to_str().unwrap()],
    ]
    .concat();
    let ((owner, _), (other, port)) = (server_with(&authority, false, &named), server_with(&authority, false, &named));
    assert_eq!(owner.command("CLUSTER ADDSLOTSRANGE 0 16383"), "+OK\r\n");
    assert_eq!(owner.command(&format!("CLUSTER MEET 127.0.0.1 {port}")), "+OK\r\n");
    let knows = async || {
        let stand = [&owner, &other].iter().all(|node| node.command("CLUSTER INFO").contains("cluster_state:ok"));
        (stand && other.command("CLUSTER SLOTS").contains("localhost")).then_some(())
    };
    until(Duration::from_secs(60), "the node that has no slot knows the other", knows).await;
    let url = format!("rediss+cluster://localhost:{port}?{}", parameter(&authority, "ca", "ca.pem"));
    run_one(&connect(&url).await).await;
}
