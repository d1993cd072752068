//! Listeners that speak TLS: whom they serve, what others are answered, and that certificates can be renewed under them.

use std::{fs, net::SocketAddr, time::Duration};

use jobbers_test_support::{
    authority::{Authority, Days},
    program::Program,
    tls::client::{TlsClient, get_plainly},
    wait::until,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{engines::Kind, secrets::keys::create, stack::Stack};

/// A silent client is cut off within this time. A bound, not a measurement.
const CUT_OFF_WITHIN: Duration = Duration::from_secs(20);
/// A changed certificate is in use within this time.
const RENEWED_WITHIN: Duration = Duration::from_secs(30);

/// Starts a manager with the authority's certificate of a server, and returns the addresses of its ports.
pub(crate) async fn secure_manager(
    stack: &Stack,
    authority: &Authority,
    listen: &str,
    arguments: &[&str],
) -> (Program, SocketAddr, SocketAddr) {
    let [certificate, key] = ["server.pem", "server.key"].map(|name| authority.file(name).display().to_string());
    let given =
        ["--engine-url", stack.url(), "--listen", listen, "--masstasker-listen", "127.0.0.1:0", "--masstasker-tls"];
    let own = ["--tls-cert", &certificate, "--tls-key", &key];
    let program = Program::start("manager", stack.folder(), &[&given, &own[..], arguments].concat(), &[]);
    let http = program.line("listening address=").await;
    let grpc = program.line("listening for clients of MassTasker address=").await;
    (program, address_in(&http), address_in(&grpc))
}

pub(crate) fn address_in(line: &str) -> SocketAddr {
    let (_, address) = line.rsplit_once("address=").unwrap();
    address.split_whitespace().next().unwrap().parse().unwrap()
}

async fn ready(client: TlsClient<'_>, address: SocketAddr) -> bool {
    client.get(address, "/health/live").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_served_by_tls_on_all_ports_and_plain_ones_get_a_sentence() {
    let (stack, authority) = (Stack::on(Kind::Sqlite).await, Authority::new());
    let (_manager, http, grpc) = secure_manager(&stack, &authority, "127.0.0.1:0", &[]).await;
    let client = TlsClient { trusts: &authority, is_of: None };
    assert!(ready(client, http).await);
    let stranger = Authority::new();
    assert!(!ready(TlsClient { trusts: &stranger, is_of: None }, http).await, "the certificate is the authority's");
    let stream = client.connect(grpc, b"h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let answer = get_plainly(http, "/health/live").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("write https://"), "{answer}");
}

on_both_engines!(other_machines_are_served_over_tls_once_the_store_has_a_key);

async fn other_machines_are_served_over_tls_once_the_store_has_a_key(kind: Kind) {
    let (stack, authority) = (Stack::on(kind).await, Authority::new());
    // No loopback address, and no word about it is needed.
    let (manager, http, _) = secure_manager(&stack, &authority, "0.0.0.0:0", &[]).await;
    manager.line("serves no client until the store has an access key").await;
    let http = SocketAddr::from(([127, 0, 0, 1], http.port()));
    let client = TlsClient { trusts: &authority, is_of: None };
    let answer = client.get(http, "/queues").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("no access key yet"), "{answer}");
    fs::write(stack.folder().join("ops.key"), create(&stack, "ops", "admin").await).unwrap();
    let url = format!("https://localhost:{}?ca={}", http.port(), authority.file("ca.pem").display());
    until(RENEWED_WITHIN, "the key is followed", async || {
        let line = ["queues", "--manager", &url, "--key-file", "ops.key"];
        let mut command = Program::start("jobbers", stack.folder(), &line, &[]);
        command.exit().await.success().then_some(())
    })
    .await;
    assert!(client.get(http, "/queues").await.unwrap().starts_with("HTTP/1.1 401"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_with_a_certificate_of_the_authority_are_served() {
    let (stack, authority) = (Stack::on(Kind::Sqlite).await, Authority::new());
    let clients = authority.file("ca.pem").display().to_string();
    // No loopback address, and no word about it is needed.
    let only_known = ["--tls-client-ca", &clients];
    let (manager, http, grpc) = secure_manager(&stack, &authority, "0.0.0.0:0", &only_known).await;
    let http = SocketAddr::from(([127, 0, 0, 1], http.port()));
    let (known, stranger) = (TlsClient { trusts: &authority, is_of: Some(&authority) }, Authority::new());
    assert!(ready(known, http).await);
    for is_of in [None, Some(&stranger)] {
        let refused = TlsClient { trusts: &authority, is_of };
        assert!(!ready(refused, http).await, "{refused:?}");
        // TLS 1.3 refuses a client after its side of the handshake.
        let asked = match refused.connect(grpc, b"h2").await {
            Ok(mut stream) => stream.read_to_end(&mut Vec::new()).await.map(drop),
            Err(error) => Err(error),
        };
        assert!(asked.is_err(), "{refused:?}");
    }
    assert!(!manager.said().contains("without authentication"), "{}", manager.said());
    let [ca, cert, key] = ["ca.pem", "client.pem", "client.key"].map(|name| authority.file(name).display().to_string());
    let trusting = format!("https://localhost:{}?ca={ca}", http.port());
    for (manager, code) in [(format!("{trusting}&cert={cert}&key={key}"), 0), (trusting, 69)] {
        let mut command = Program::start("jobbers", stack.folder(), &["queues", "--manager", &manager], &[]);
        assert_eq!(command.exit().await.code(), Some(code), "{manager}: {}", command.said());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_used_and_half_a_file_is_not() {
    let (stack, authority) = (Stack::on(Kind::Sqlite).await, Authority::new());
    let (manager, http, _) = secure_manager(&stack, &authority, "127.0.0.1:0", &[]).await;
    let client = TlsClient { trusts: &authority, is_of: None };
    let shown = async || {
        let stream = client.connect(http, b"http/1.1").await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    };
    let first = shown().await;
    let whole = fs::read(authority.file("server.pem")).unwrap();
    fs::write(authority.file("server.pem"), &whole[..whole.len() / 2]).unwrap();
    manager.line("the one before stays").await;
    assert_eq!(shown().await, first);
    authority.renew_server(Days { since: 0, left: 90 });
    until(RENEWED_WITHIN, "another certificate is shown", async || (shown().await != first).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_make_no_identity_stop_the_program_with_a_sentence() {
    let (stack, authority, other) = (Stack::on(Kind::Sqlite).await, Authority::new(), Authority::new());
    let file = |authority: &Authority, name: &str| authority.file(name).display().to_string();
    let (certificate, key) = (file(&authority, "server.pem"), file(&authority, "server.key"));
    for (arguments, sentence) in [
        (["--tls-cert", &certificate, "--tls-key", ""], "belong together"),
        (["--tls-cert", "none.pem", "--tls-key", &key], "can't read none.pem"),
        (["--tls-cert", &key, "--tls-key", &key], "holds no certificate in PEM"),
        (["--tls-cert", &certificate, "--tls-key", &certificate], "holds no private key in PEM"),
        (["--tls-cert", &certificate, "--tls-key", &file(&other, "server.key")], "can't be used with the key"),
    ] {
        let given = ["--engine-url", stack.url(), "--listen", "127.0.0.1:0"];
        let mut program = Program::start("manager", stack.folder(), &[&given, &arguments[..]].concat(), &[]);
        assert_eq!(program.exit().await.code(), Some(64), "{arguments:?}");
        assert!(program.said().contains(sentence), "{arguments:?}: {}", program.said());
    }
}

/// It holds a place and memory of the account, so it has no longer than a request's head.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_finish_its_handshake_is_cut_off() {
    let (stack, authority) = (Stack::on(Kind::Sqlite).await, Authority::new());
    let impatient = ["--set", "header_timeout=1s", "--set", "max_connections=2"];
    let (_manager, http, _) = secure_manager(&stack, &authority, "127.0.0.1:0", &impatient).await;
    for begin in [&[22, 3, 1][..], &[22]] {
        let mut silent = TcpStream::connect(http).await.unwrap();
        silent.write_all(begin).await.unwrap();
        let end = timeout(CUT_OFF_WITHIN, silent.read_to_end(&mut Vec::new())).await;
        assert!(end.is_ok(), "{begin:?} is not waited for");
    }
    // More than there are places: the silent ones make room.
    let mut silent = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(http).await.unwrap();
        stream.write_all(&[22]).await.unwrap();
        silent.push(stream);
    }
    let client = TlsClient { trusts: &authority, is_of: None };
    until(CUT_OFF_WITHIN, "another client is served", async || ready(client, http).await.then_some(())).await;
}
