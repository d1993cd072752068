//! The identity of a listener that speaks TLS: its certificate and key, read from files. A program without the feature `tls`
//! has none.

use std::{io, path::PathBuf, sync::Arc};

use jiff::{SignedDuration, Timestamp};

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod certificate_name;
#[cfg(feature = "tls")]
mod identity;

#[cfg(not(feature = "tls"))]
pub use self::absent::Tls;
#[cfg(feature = "tls")]
pub use self::identity::Tls;

/// The name of a client's certificate, or why it has none.
pub type CertificateName = Result<Arc<str>, &'static str>;

/// The files of an identity, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and after it those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of clients. With them, only clients that have a certificate of one of them are served.
    pub client_authorities: Option<PathBuf>,
}

/// For how long a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// When it begins.
    pub begins_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
}

/// A certificate that ends within this time should have been renewed.
const RENEWED_BEFORE_END: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A short one ends soon when less than this part of its lifetime is left.
const RENEWED_BEFORE_PART: i32 = 4;

impl Validity {
    /// From its beginning to its end.
    #[must_use]
    pub fn lifetime(&self) -> SignedDuration {
        self.ends_at.duration_since(self.begins_at)
    }

    /// From now to its end; negative once it is over.
    #[must_use]
    pub fn remaining(&self, now: Timestamp) -> SignedDuration {
        self.ends_at.duration_since(now)
    }

    /// What an operator should know of a certificate that is over or ends soon.
    #[must_use]
    pub fn warning(&self, now: Timestamp) -> Option<String> {
        let (ends_at, remaining) = (self.ends_at, self.remaining(now));
        if remaining <= SignedDuration::ZERO {
            return Some(format!("the TLS certificate ended at {ends_at}, and clients refuse it: renew it"));
        }
        let is_soon = remaining < RENEWED_BEFORE_END.min(self.lifetime() / RENEWED_BEFORE_PART);
        is_soon.then(|| format!("the TLS certificate ends at {ends_at}: renew it"))
    }
}

/// Why files can't be used as an identity.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The program has no TLS.
    #[error("this program is built without the feature `https`, which speaks TLS")]
    Absent,
    /// A file can't be read.
    #[error("can't read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} holds no {what} in PEM ({problem})")]
    NotPem {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The certificate can't be used with the key.
    #[error("{certificate} can't be used with the key in {key}: {problem}")]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The authorities of clients can't be used.
    #[error("the authorities in {path} can't be used: {problem}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_ends_soon_or_is_over_is_warned_about() {
        let begins_at = Timestamp::UNIX_EPOCH;
        let after = |hours| begins_at + SignedDuration::from_hours(hours);
        for (lifetime, age, expected) in [
            (90 * 24, 82 * 24, None),
            (90 * 24, 84 * 24, Some("ends at 1970-04-01T00:00:00Z")),
            (24, 1, None),
            (24, 19, Some("ends at")),
            (24, 24, Some("ended at")),
        ] {
            let validity = Validity { begins_at, ends_at: after(lifetime) };
            let warning = validity.warning(after(age));
            let is_expected = match (&warning, expected) {
                (Some(warning), Some(expected)) => warning.contains(expected),
                (warning, expected) => warning.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{lifetime} {age}: {warning:?}");
        }
    }
}
