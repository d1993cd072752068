//! The list of queues that a role serves: names, and patterns of names.
//!
//! [`served`] is the one place that decides which queues such a list means. It reads no store: an engine gives it the
//! queues that exist and that a pattern may match.

use std::{
    borrow::Borrow,
    collections::{BTreeSet, HashSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::{
    limits::{MAX_NAME_BYTES, MAX_QUEUES_PER_CLAIM},
    name::{NameError, QueueName},
};

/// Any run of characters in a pattern, also none. No queue's name contains it.
const STAR: char = '*';

/// A queue's name, or a pattern of names: `mail`, `tenant-*`, `*-eu`, `a*b`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueuePattern(String);

/// Why a text is neither a queue's name nor a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueuePatternError {
    /// It has no star, and is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It has a star, and is no pattern; cut to 160 characters.
    #[error(
        "queue pattern {0:?} is not valid: 1 to 128 characters of A-Z a-z 0-9 . _ : / - with * for any characters or \
         none, and no two * side by side"
    )]
    Pattern(String),
}

impl QueuePattern {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The queue that it names; `None` for a pattern.
    #[must_use]
    pub fn name(&self) -> Option<QueueName> {
        QueueName::new(&self.0).ok()
    }

    /// Whether it is a pattern.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.0.contains(STAR)
    }

    /// What every name that it matches begins with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.split(STAR).next().unwrap_or_default()
    }

    /// Whether it names a queue or matches its name.
    #[must_use]
    pub fn matches(&self, queue: &QueueName) -> bool {
        let Some((first, rest)) = self.0.split_once(STAR) else { return self.0 == queue.as_str() };
        let Some(mut left) = queue.as_str().strip_prefix(first) else { return false };
        let (middle, last) = rest.rsplit_once(STAR).unwrap_or(("", rest));
        // The leftmost place of each part leaves the most for the parts after it.
        for part in middle.split(STAR) {
            match left.find(part) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        left.ends_with(last)
    }
}

impl FromStr for QueuePattern {
    type Err = QueuePatternError;

    fn from_str(text: &str) -> Result<Self, QueuePatternError> {
        if !text.contains(STAR) {
            return Ok(QueueName::new(text)?.into());
        }
        let is_part = |part: &str| part.is_empty() || QueueName::new(part).is_ok();
        let is_legal = text.len() <= MAX_NAME_BYTES && !text.contains("**") && text.split(STAR).all(is_part);
        is_legal
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| QueuePatternError::Pattern(text.chars().take(160).collect()))
    }
}

impl TryFrom<String> for QueuePattern {
    type Error = QueuePatternError;

    fn try_from(text: String) -> Result<Self, QueuePatternError> {
        text.parse()
    }
}

impl From<QueueName> for QueuePattern {
    fn from(name: QueueName) -> Self {
        Self(name.as_str().to_owned())
    }
}

impl From<QueuePattern> for String {
    fn from(pattern: QueuePattern) -> Self {
        pattern.0
    }
}

impl Borrow<str> for QueuePattern {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueuePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The queues that a role serves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServedQueues {
    /// In the order of the role, each once; at most [`MAX_QUEUES_PER_CLAIM`].
    pub queues: Vec<QueueName>,
    /// Whether its patterns match more.
    pub is_cut: bool,
}

/// The queues that a list serves. A queue that the list names is at the place of its name, even if a pattern before it
/// matches it too. The other queues are at the place of the first pattern that matches them, in the order of their
/// names. `existing` has the queues that exist and that a pattern of the list matches; others in it are ignored.
///
/// Queues that are named are served in any case; patterns add queues until there are [`MAX_QUEUES_PER_CLAIM`].
#[must_use]
pub fn served(list: &[QueuePattern], existing: &BTreeSet<QueueName>) -> ServedQueues {
    let mut known: HashSet<QueueName> = list.iter().filter_map(QueuePattern::name).collect();
    let mut served = ServedQueues::default();
    let mut room = MAX_QUEUES_PER_CLAIM.saturating_sub(known.len());
    for entry in list {
        if let Some(name) = entry.name() {
            served.queues.push(name);
            continue;
        }
        for queue in existing.iter().filter(|queue| entry.matches(queue)) {
            if known.contains(queue) {
                continue;
            }
            if room == 0 {
                served.is_cut = true;
                break;
            }
            room -= 1;
            known.insert(queue.clone());
            served.queues.push(queue.clone());
        }
    }
    served
}

/// The queues that a pattern matches, of all queues from its [prefix](QueuePattern::prefix) on, in the order of their
/// names. Ends after one more than a role serves, so that a longer list is noticed.
///
/// # Errors
/// Those of the walk.
pub fn matched<E>(
    pattern: &QueuePattern,
    queues: impl IntoIterator<Item = Result<QueueName, E>>,
) -> Result<Vec<QueueName>, E> {
    let is_near = |queue: &Result<QueueName, E>| match queue {
        Ok(queue) => queue.as_str().starts_with(pattern.prefix()),
        Err(_) => true,
    };
    let fits = |queue: &Result<QueueName, E>| queue.as_ref().map_or(true, |queue| pattern.matches(queue));
    queues.into_iter().take_while(is_near).filter(fits).take(MAX_QUEUES_PER_CLAIM + 1).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> QueuePattern {
        text.parse().unwrap()
    }

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn texts(served: &ServedQueues) -> Vec<&str> {
        served.queues.iter().map(QueueName::as_str).collect()
    }

    #[test]
    fn a_text_is_a_name_or_a_pattern_or_refused() {
        for legal in ["mail", "tenant-*", "*", "*-eu", "a*b*c", "a/b:*", &format!("{}*", "x".repeat(127))] {
            let read = pattern(legal);
            assert_eq!((read.as_str(), read.is_pattern()), (legal, legal.contains('*')));
            assert_eq!(read.name().is_none(), read.is_pattern(), "no queue's name has a star");
        }
        for name in ["", "ma il", "a\u{7}", &"x".repeat(129)] {
            assert!(matches!(name.parse::<QueuePattern>(), Err(QueuePatternError::Name(_))), "{name:?}");
        }
        for bad in ["**", "a**b", "a *", "*\n", "tenant-*?", "ü*", &format!("{}*", "x".repeat(128))] {
            let refused = bad.parse::<QueuePattern>().unwrap_err();
            assert!(matches!(refused, QueuePatternError::Pattern(_)), "{bad:?}");
            assert!(!refused.to_string().contains(char::is_control), "{refused}");
        }
    }

    #[test]
    fn a_named_queue_is_at_its_own_place_and_others_at_that_of_their_first_pattern() {
        let list = ["urgent", "tenant-*", "tenant-2", "*"].map(pattern);
        let existing: BTreeSet<QueueName> =
            ["tenant-1", "tenant-10", "tenant-2", "other", "another", "urgent"].map(queue).into();
        let expected = ["urgent", "tenant-1", "tenant-10", "tenant-2", "another", "other"];
        assert_eq!(texts(&served(&list, &existing)), expected);
        assert_eq!(texts(&served(&list, &BTreeSet::new())), ["urgent", "tenant-2"], "patterns match nothing yet");
    }

    #[test]
    fn patterns_add_queues_up_to_the_bound_and_named_queues_are_served_in_any_case() {
        let name = |n: usize| queue(&format!("q{n:05}"));
        let existing: BTreeSet<QueueName> = (0..MAX_QUEUES_PER_CLAIM).map(name).collect();
        let whole = served(&[pattern("q*")], &existing);
        assert_eq!((whole.queues.len(), whole.is_cut), (MAX_QUEUES_PER_CLAIM, false));
        let cut = served(&["*", "zz"].map(pattern), &existing);
        assert_eq!((cut.queues.len(), cut.is_cut), (MAX_QUEUES_PER_CLAIM, true));
        assert_eq!(cut.queues[MAX_QUEUES_PER_CLAIM - 2..], [name(MAX_QUEUES_PER_CLAIM - 2), queue("zz")]);
    }

    #[test]
    fn a_walk_ends_behind_the_prefix_and_after_one_more_than_a_role_serves() {
        let walk = |text: &str, names: Vec<QueueName>| {
            matched::<Infallible>(&pattern(text), names.into_iter().map(Ok)).unwrap()
        };
        assert_eq!(walk("b*d", ["b", "bcd", "bd", "c", "bad"].map(queue).into()), ["bcd", "bd"].map(queue));
        let many = (0..3 * MAX_QUEUES_PER_CLAIM).map(|n| queue(&format!("q{n:05}"))).collect();
        assert_eq!(walk("q*", many).len(), MAX_QUEUES_PER_CLAIM + 1);
        assert_eq!(matched(&pattern("a*"), [Ok(queue("a1")), Err("the walk failed")]), Err("the walk failed"));
    }

    /// What a star means, as a definition and not as a search.
    fn means(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => {
                means(rest, name) || name.split_first().is_some_and(|(_, name)| means(pattern, name))
            }
            ([first, pattern @ ..], [same, name @ ..]) => first == same && means(pattern, name),
            _ => false,
        }
    }

    /// The list's meaning by sorting queues instead of walking the list.
    fn means_queues(list: &[QueuePattern], existing: &BTreeSet<QueueName>) -> Vec<String> {
        let named = list.iter().map(QueuePattern::as_str).filter(|text| !text.contains('*'));
        let all: BTreeSet<&str> = existing.iter().map(QueueName::as_str).chain(named).collect();
        let place = |name: &str| {
            let own = list.iter().position(|entry| entry.as_str() == name);
            own.or_else(|| list.iter().position(|entry| means(entry.as_str().as_bytes(), name.as_bytes())))
        };
        let mut placed: Vec<(usize, &str)> = all.into_iter().filter_map(|name| Some((place(name)?, name))).collect();
        placed.sort_unstable();
        placed.into_iter().map(|(_, name)| name.to_owned()).collect()
    }

    proptest! {
        #[test]
        fn a_pattern_matches_by_its_definition(text in r"\*?([ab]{1,2}\*?){0,3}", name in "[ab]{1,6}") {
            prop_assume!(!text.is_empty());
            let is_match = pattern(&text).matches(&queue(&name));
            prop_assert_eq!(is_match, means(text.as_bytes(), name.as_bytes()), "{} {}", text, name);
        }

        #[test]
        fn a_list_serves_what_sorting_gives(
            list in proptest::collection::vec(r"[ab]{1,3}|\*|[ab]{1,2}\*|\*[ab]{1,2}|[ab]\*[ab]", 1..6),
            existing in proptest::collection::btree_set("[ab]{1,3}", 0..12),
        ) {
            let mut list: Vec<QueuePattern> = list.iter().map(|text| pattern(text)).collect();
            let mut seen = HashSet::new();
            list.retain(|entry| seen.insert(entry.clone()));
            let existing: BTreeSet<QueueName> = existing.iter().map(|name| queue(name)).collect();
            let served = served(&list, &existing);
            prop_assert!(!served.is_cut);
            prop_assert_eq!(texts(&served), means_queues(&list, &existing));
        }
    }
}
