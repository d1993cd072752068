//! Certificates for tests: an authority of one test's own, and the files of those it vouches for.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use tempfile::TempDir;

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

/// For how long a certificate is valid, around now.
#[derive(Debug, Clone, Copy)]
pub struct Days {
    /// Days since its beginning.
    pub since: u32,
    /// Days until its end; with none it ended a minute ago.
    pub left: u32,
}

/// The names in a certificate.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The common name of its subject.
    pub common: Option<&'a str>,
    /// Its DNS names.
    pub dns: &'a [&'a str],
}

/// An authority. In its folder are PEM files: `ca.pem`, its own certificate; `server.pem` and `server.key`, of a server
/// at `localhost`; `client.pem` and `client.key`, of a client.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    ///
    /// # Panics
    /// When a file can't be written.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are legal names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("it signs for itself");
        let authority = Self { folder: tempfile::tempdir().expect("a folder for certificates"), issuer };
        authority.write("ca.pem", &authority.issuer.pem());
        authority.renew_server(Days { since: 0, left: 90 });
        authority.vouch_for_client("client", here("client"), Days { since: 0, left: 90 });
        authority
    }

    /// The path of one of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes another certificate and key of the server in place of the first.
    ///
    /// # Panics
    /// When a file can't be written.
    pub fn renew_server(&self, valid: Days) {
        self.vouch("server", ExtendedKeyUsagePurpose::ServerAuth, here("server"), valid);
    }

    /// Writes a certificate and a key of another client, to `FILE.pem` and `FILE.key`.
    ///
    /// # Panics
    /// When a name is not legal, or a file can't be written.
    pub fn vouch_for_client(&self, file: &str, names: Names<'_>, valid: Days) {
        self.vouch(file, ExtendedKeyUsagePurpose::ClientAuth, names, valid);
    }

    fn vouch(&self, file: &str, purpose: ExtendedKeyUsagePurpose, names: Names<'_>, valid: Days) {
        let dns: Vec<String> = names.dns.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(dns).expect("legal names");
        // A certificate of its issuer's name would pass for one that vouches for itself.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "tests");
        if let Some(name) = names.common {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.extended_key_usages = vec![purpose];
        let now = SystemTime::now();
        // A clock may go back a little between this and a handshake.
        params.not_before = (now - DAY * valid.since - MINUTE).into();
        params.not_after = (if valid.left == 0 { now - MINUTE } else { now + DAY * valid.left }).into();
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer).expect("the authority signs");
        self.write(&format!("{file}.pem"), &certificate.pem());
        self.write(&format!("{file}.key"), &key.serialize_pem());
    }

    fn write(&self, name: &str, pem: &str) {
        fs::write(self.file(name), pem).expect("a certificate is written down");
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// The names of a program on this machine.
const fn here(common: &str) -> Names<'_> {
    Names { common: Some(common), dns: &["localhost"] }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key pair")
}
