//! Certificates for tests: an authority of one test's own, and the files of those it vouches for.

use std::{fs, path::PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tempfile::TempDir;

/// An authority. In its folder are PEM files: `ca.pem`, its own certificate; `server.pem` and `server.key`, of a server
/// at `localhost`; `client.pem` and `client.key`, of a client.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
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
        let authority = Self { folder: tempfile::tempdir().expect("a folder for certificates") };
        authority.write("ca.pem", &issuer.pem());
        authority.vouch(&issuer, "server", ExtendedKeyUsagePurpose::ServerAuth);
        authority.vouch(&issuer, "client", ExtendedKeyUsagePurpose::ClientAuth);
        authority
    }

    /// The path of one of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn vouch(&self, issuer: &CertifiedIssuer<'static, KeyPair>, name: &str, purpose: ExtendedKeyUsagePurpose) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a legal name");
        // A certificate of its issuer's name would pass for one that vouches for itself.
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        let key = key();
        let certificate = params.signed_by(&key, issuer).expect("the authority signs");
        self.write(&format!("{name}.pem"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
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

fn key() -> KeyPair {
    KeyPair::generate().expect("a key pair")
}
