//! Where a front listens: at an address of TCP, or at a socket in the file system, `unix:/run/jobbers/front.sock?mode=0660`.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::parse;

/// How a socket in the file system begins.
const SCHEME: &str = "unix:";
/// Most bytes of its path. The system has room for 108, the last of which ends it.
const MAX_PATH_BYTES: usize = 107;
/// Who may connect unless the address says otherwise: the user of the process.
const DEFAULT_MODE: u32 = 0o600;
/// The bit of a mode by which every user may connect.
const OPEN_TO_ALL: u32 = 0o002;

/// Where a front listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Endpoint {
    /// At an address.
    Tcp(SocketAddr),
    /// At a socket in the file system.
    Unix(SocketFile),
}

/// A socket in the file system, and who may connect to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketFile {
    path: PathBuf,
    mode: u32,
}

impl Endpoint {
    /// Whether it is an address that other machines can't reach.
    #[must_use]
    pub const fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => false,
        }
    }

    /// The socket in the file system, if it is one.
    #[must_use]
    pub const fn socket_file(&self) -> Option<&SocketFile> {
        match self {
            Self::Tcp(_) => None,
            Self::Unix(file) => Some(file),
        }
    }
}

impl SocketFile {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its permissions.
    #[must_use]
    pub const fn mode(&self) -> u32 {
        self.mode
    }

    /// Whether every user of the machine may connect.
    #[must_use]
    pub const fn is_open_to_all(&self) -> bool {
        self.mode & OPEN_TO_ALL != 0
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(SCHEME) {
            Some(file) => read_file(file).map(Self::Unix).map_err(|rule| format!("{text:?} {rule}")),
            None => parse(text).map(Self::Tcp).map_err(|error| format!("{error}, or unix:/run/jobbers/front.sock")),
        }
    }
}

/// Reads what follows `unix:`.
fn read_file(text: &str) -> Result<SocketFile, String> {
    let (path, query) = text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)));
    if !path.starts_with('/') {
        return Err("names no whole path: write unix:/run/jobbers/front.sock".to_owned());
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(format!("has a path of {} bytes: that of a socket has at most {MAX_PATH_BYTES}", path.len()));
    }
    let mode = match query {
        None => DEFAULT_MODE,
        Some(query) => {
            let digits =
                query.strip_prefix("mode=").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
            let mode = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
            mode.filter(|mode| *mode <= 0o777).ok_or("may have ?mode=0660 behind its path, and nothing else")?
        }
    };
    Ok(SocketFile { path: PathBuf::from(path), mode })
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(SocketFile { path, mode: DEFAULT_MODE }) => write!(f, "{SCHEME}{}", path.display()),
            Self::Unix(SocketFile { path, mode }) => write!(f, "{SCHEME}{}?mode={mode:04o}", path.display()),
        }
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.to_string()
    }
}

impl TryFrom<String> for Endpoint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_a_socket_with_its_mode_are_read_back_as_they_are_written() {
        for (text, mode) in [
            ("127.0.0.1:8048", None),
            ("unix:/run/jobbers/front.sock", Some(0o600)),
            ("unix:/run/a b.sock?mode=0660", Some(0o660)),
            ("unix:/run/x?mode=0777", Some(0o777)),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), text);
            assert_eq!(endpoint.socket_file().map(SocketFile::mode), mode, "{text}");
            assert_eq!(endpoint.socket_file().is_some_and(SocketFile::is_open_to_all), mode == Some(0o777), "{text}");
        }
        let longest = format!("unix:/{}", "x".repeat(106));
        assert!(longest.parse::<Endpoint>().is_ok());
        for (bad, words) in [
            (format!("{longest}x"), "has a path of 108 bytes"),
            ("unix:".to_owned(), "names no whole path"),
            ("unix:front.sock".to_owned(), "names no whole path"),
            ("unix:/x?mode=".to_owned(), "?mode=0660"),
            ("unix:/x?mode=0888".to_owned(), "?mode=0660"),
            ("unix:/x?mode=1777".to_owned(), "?mode=0660"),
            ("unix:/x?mode=+660".to_owned(), "?mode=0660"),
            ("unix:/x?owner=me".to_owned(), "?mode=0660"),
            ("here".to_owned(), "unix:/run/jobbers/front.sock"),
        ] {
            let refused = bad.parse::<Endpoint>().unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
