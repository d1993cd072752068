//! The headers that a manager adds to a request that it passes on to the keeper of the dead letters.

use axum::http::HeaderName;

/// Marks such a request.
pub(crate) const PASSED_ON: HeaderName = HeaderName::from_static("jobbers-passed-on");

/// The name of its client's certificate, where that signed the client in. The certificate itself stays with the connection.
pub(crate) const CERTIFICATE_NAME: HeaderName = HeaderName::from_static("jobbers-certificate-name");
