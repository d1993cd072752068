//! Cookies of a request.

use http::{HeaderMap, header};

/// The value of the cookie with this name; `None` if it is not there, or there twice with different values.
#[must_use]
pub fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lists = headers.get_all(header::COOKIE).iter().filter_map(|list| list.to_str().ok());
    let pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let headers: HeaderMap = ["a=1; jobbers=x ", "my-jobbers=y;b=2"]
            .map(|list| (header::COOKIE, list.parse().unwrap()))
            .into_iter()
            .collect();
        assert_eq!((find(&headers, "jobbers"), find(&headers, "b"), find(&headers, "c")), (Some("x"), Some("2"), None));
        let twice: HeaderMap = [(header::COOKIE, "a=1; a=1; b=1; b=2".parse().unwrap())].into_iter().collect();
        assert_eq!((find(&twice, "a"), find(&twice, "b")), (Some("1"), None));
    }
}
