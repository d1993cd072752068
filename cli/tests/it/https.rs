//! A manager behind TLS: which certificates are trusted, and the error for others.

use jobbers_test_support::{authority::Authority, tls_front::TlsFront};

use crate::jobbers::{Said, Up, said};

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
