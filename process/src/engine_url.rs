//! The address of the store: its flags, and how it is shown.

#[cfg(feature = "cli")]
mod args;

#[cfg(feature = "cli")]
pub use self::args::{EngineArgs, WaitArgs};

/// A store's address without its password: `redis://user:secret@host` becomes `redis://user:***@host`, and
/// `?pass=secret` becomes `?pass=***`.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    // The last @ before the path, because a password may contain one too.
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((login, host)) if login.contains(':') => {
            format!("{}:***@{host}", login.split(':').next().unwrap_or_default())
        }
        _ => authority.to_owned(),
    };
    let query = query.map(|query| {
        let shown = query.split('&').map(|pair| match pair.split_once('=') {
            Some((key @ ("pass" | "password" | "sentinel_password"), _)) => format!("{key}=***"),
            _ => pair.to_owned(),
        });
        format!("?{}", shown.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{authority}{path}{}", query.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("redis://me:s3@cret@host:6379/1", "redis://me:***@host:6379/1"),
            ("redis://:secret@host", "redis://:***@host"),
            ("redis+unix:///run/redis.sock?db=1&pass=secret", "redis+unix:///run/redis.sock?db=1&pass=***"),
            (
                "redis+sentinel://me:s3cret@a,b:7000/main/1?sentinel_password=secret",
                "redis+sentinel://me:***@a,b:7000/main/1?sentinel_password=***",
            ),
            ("unix:///run/redis.sock?password=a=b&db=1", "unix:///run/redis.sock?password=***&db=1"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        for open in ["redis://host:6379", "sqlite://./a@b.db?synchronous=full", "sqlite::memory:"] {
            assert_eq!(without_password(open), open);
        }
    }
}
