//! Which versions of a task something is for: one, a range, or all.

use std::{cmp::Reverse, fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeStruct,
};

/// Versions without a gap, both ends included. What is said in two ways is one value: from 3 to 3 is version 3, and a
/// range with two open ends is every version.
///
/// On the wire a number, or `{"from": 2, "to": 5}` with either end left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Versions {
    from: u32,
    to: u32,
}

/// A range that holds no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a range of versions goes upwards: from {from} lies above to {to}")]
pub struct EmptyRange {
    from: u32,
    to: u32,
}

impl Versions {
    /// Every version.
    pub const ALL: Self = Self { from: 0, to: u32::MAX };

    /// One version.
    #[must_use]
    pub const fn one(version: u32) -> Self {
        Self { from: version, to: version }
    }

    /// Those from one to another; `None` leaves an end open.
    ///
    /// # Errors
    /// [`EmptyRange`] if the first lies above the last.
    pub fn range(from: Option<u32>, to: Option<u32>) -> Result<Self, EmptyRange> {
        let (from, to) = (from.unwrap_or(0), to.unwrap_or(u32::MAX));
        if from > to { Err(EmptyRange { from, to }) } else { Ok(Self { from, to }) }
    }

    /// The first of them, and the last.
    #[must_use]
    pub const fn ends(self) -> (u32, u32) {
        (self.from, self.to)
    }

    /// The one version there is, if it is one.
    #[must_use]
    pub const fn single(self) -> Option<u32> {
        if self.from == self.to { Some(self.from) } else { None }
    }

    /// Whether these are all versions.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        self.from == 0 && self.to == u32::MAX
    }

    /// Whether a version is among them.
    #[must_use]
    pub const fn contains(self, version: u32) -> bool {
        self.from <= version && version <= self.to
    }

    /// Whether the two share versions while neither holds all of the other's.
    #[must_use]
    pub const fn crosses(self, other: Self) -> bool {
        let apart = self.to < other.from || other.to < self.from;
        let holds = self.from <= other.from && other.to <= self.to;
        let is_held = other.from <= self.from && self.to <= other.to;
        !(apart || holds || is_held)
    }
}

/// By the first version, and of those that begin alike the wider one first: what holds another comes before it.
impl Ord for Versions {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.from, Reverse(self.to)).cmp(&(other.from, Reverse(other.to)))
    }
}

impl PartialOrd for Versions {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::ALL
    }
}

/// `*` for all, `3`, `2-5`, `2-` and `-5`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (0, u32::MAX) => f.write_str("*"),
            (from, to) if from == to => write!(f, "{from}"),
            (from, u32::MAX) => write!(f, "{from}-"),
            (0, to) => write!(f, "-{to}"),
            (from, to) => write!(f, "{from}-{to}"),
        }
    }
}

/// The same spellings.
impl FromStr for Versions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no version: write 3, 2-5, 2-, -5, or * for all");
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let end = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
        match text.split_once('-') {
            None if text == "*" => Ok(Self::ALL),
            None => number(text).map(Self::one),
            Some(("", "")) => Err(wrong()),
            Some((from, to)) => Self::range(end(from)?, end(to)?).map_err(|error| error.to_string()),
        }
    }
}

impl Serialize for Versions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(version) = self.single() {
            return serializer.serialize_u32(version);
        }
        let from = (self.from > 0).then_some(self.from);
        let to = (self.to < u32::MAX).then_some(self.to);
        if from.is_none() && to.is_none() {
            return serializer.serialize_none();
        }
        let mut bounds = serializer.serialize_struct("Versions", 2)?;
        match from {
            Some(from) => bounds.serialize_field("from", &from)?,
            None => bounds.skip_field("from")?,
        }
        match to {
            Some(to) => bounds.serialize_field("to", &to)?,
            None => bounds.skip_field("to")?,
        }
        bounds.end()
    }
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Spelling)
    }
}

/// Reads either spelling, so that an error names what was wrong with the one that was used.
struct Spelling;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    #[serde(default)]
    from: Option<u32>,
    #[serde(default)]
    to: Option<u32>,
}

impl<'de> Visitor<'de> for Spelling {
    type Value = Versions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a version, or a range of versions with from, to or both")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Versions, E> {
        Ok(Versions::ALL)
    }

    fn visit_u64<E: de::Error>(self, version: u64) -> Result<Versions, E> {
        let version = u32::try_from(version);
        version.map(Versions::one).map_err(|_| E::custom(format!("a version is at most {}", u32::MAX)))
    }

    fn visit_map<A: MapAccess<'de>>(self, bounds: A) -> Result<Versions, A::Error> {
        let Bounds { from, to } = Bounds::deserialize(MapAccessDeserializer::new(bounds))?;
        if from.is_none() && to.is_none() {
            return Err(de::Error::custom("a range of versions says from, to or both"));
        }
        Versions::range(from, to).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: u32, to: u32) -> Versions {
        Versions::range(Some(from), Some(to)).unwrap()
    }

    #[test]
    fn each_spelling_is_read_and_written_back() {
        for (text, versions, shown) in [
            ("null", Versions::ALL, "*"),
            ("3", Versions::one(3), "3"),
            (r#"{"from":2,"to":5}"#, range(2, 5), "2-5"),
            (r#"{"from":2}"#, range(2, u32::MAX), "2-"),
            (r#"{"to":5}"#, range(0, 5), "-5"),
        ] {
            assert_eq!(serde_json::from_str::<Versions>(text).unwrap(), versions, "{text}");
            assert_eq!(serde_json::to_string(&versions).unwrap(), text);
            assert_eq!((versions.to_string().as_str(), shown.parse()), (shown, Ok(versions)));
        }
        for (text, versions) in [
            (r#"{"from":3,"to":3}"#, Versions::one(3)),
            (r#"{"from":0}"#, Versions::ALL),
            (r#"{"from":null,"to":4294967295}"#, Versions::ALL),
        ] {
            assert_eq!(serde_json::from_str::<Versions>(text).unwrap(), versions, "{text}");
        }
    }

    #[test]
    fn what_names_no_version_is_refused() {
        for text in ["", "-", "x", "3-x", "5-2", "1-2-3", "+", "4294967296"] {
            text.parse::<Versions>().unwrap_err();
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, why) in [
            (r#"{"from":5,"to":2}"#, "lies above"),
            ("{}", "from, to or both"),
            (r#"{"from":null}"#, "from, to or both"),
            (r#"{"form":2}"#, "unknown field"),
            (r#"{"from":-1}"#, "-1"),
            ("4294967296", "at most"),
            ("-1", "a range of versions"),
            ("1.5", "a range of versions"),
            (r#""2-5""#, "a range of versions"),
            ("[2,5]", "a range of versions"),
        ] {
            let error = serde_json::from_str::<Versions>(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn ranges_cross_that_share_versions_and_hold_each_other_not() {
        assert!(range(2, 5).crosses(range(4, 9)) && range(4, 9).crosses(range(2, 5)));
        assert!(range(2, 5).crosses(range(5, 6)), "ends are included");
        for (one, other) in [((2, 5), (6, 9)), ((2, 5), (3, 4)), ((2, 5), (2, 3)), ((2, 5), (5, 5)), ((2, 5), (2, 5))] {
            let (one, other) = (range(one.0, one.1), range(other.0, other.1));
            assert!(!one.crosses(other) && !other.crosses(one), "{one} {other}");
        }
    }
}
