//! `text.wordcount`: the words of a text file and how often each occurs.

use std::{cmp::Reverse, collections::HashMap, path::PathBuf};

use jobbers_common::limits::DEFAULT_MAX_PAYLOAD_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{digest::read_some, root::open};
use crate::{Context, TaskError, task};

const CHUNK: usize = 64 * 1024;
/// Room for all of a result except its `counts`.
const FRAME_BYTES: usize = 200;

/// The parameters of `text.wordcount`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordCount {
    /// The file, as the worker sees it; below its `--stock-root`.
    pub path: PathBuf,
}

/// The result of `text.wordcount`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Counted {
    /// The words of a text.
    Words {
        /// How many there are.
        words: u64,
        /// How many different ones.
        distinct: u64,
        /// How often each occurs, the most frequent first, equal ones in alphabetical order.
        #[serde(serialize_with = "as_object")]
        counts: Vec<(String, u64)>,
        /// Whether the rarest words were left out of `counts` because the result would be too large.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// The file is not text.
    Skipped {
        /// Why.
        skipped: &'static str,
    },
}

/// Counts the words of a file. A word is a maximal run of letters and digits (`char::is_alphanumeric`), in lower case.
///
/// Returns `{"words": 3, "distinct": 2, "counts": {"a": 2, "b": 1}}`, or `{"skipped": "not UTF-8"}`. If the counts of
/// all words would make the result too large, the rarest are left out and `"truncated": true` is set; `words` and
/// `distinct` always count all of them.
#[task(name = "text.wordcount", blocking, unlisted)]
pub fn wordcount(ctx: Context, job: WordCount) -> Result<Counted, TaskError> {
    let mut file = open(&ctx, &job.path)?;
    let mut tally = WordCounter::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = read_some(&mut file, &mut chunk)?;
        if read.is_empty() {
            break;
        }
        if tally.take(read).is_err() {
            return Ok(Counted::Skipped { skipped: NotText::REASON });
        }
        ctx.blocking_heartbeat()?;
    }
    Ok(tally.finish().unwrap_or(Counted::Skipped { skipped: NotText::REASON }))
}

/// The bytes are not text.
#[derive(Debug, PartialEq, Eq)]
struct NotText;

impl NotText {
    const REASON: &'static str = "not UTF-8";
}

/// A count in progress, fed in pieces.
#[derive(Debug, Default)]
struct WordCounter {
    counts: HashMap<String, u64>,
    words: u64,
    /// The word at the end of the last piece, which may continue in the next.
    word: String,
    /// The first bytes of a character whose rest is still to come.
    partial: Vec<u8>,
}

impl WordCounter {
    fn take(&mut self, bytes: &[u8]) -> Result<(), NotText> {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [&self.partial, bytes].concat();
            &joined
        };
        let (text, rest) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, &[][..]),
            // `None`: the text ends within a character, so there may be more to come.
            Err(error) if error.error_len().is_none() => {
                let (text, rest) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(text).map_err(|_| NotText)?, rest)
            }
            Err(_) => return Err(NotText),
        };
        for part in text.split_inclusive(|letter: char| !letter.is_alphanumeric()) {
            let ends = part.chars().next_back().filter(|last| !last.is_alphanumeric());
            self.word.push_str(&part[..part.len() - ends.map_or(0, char::len_utf8)]);
            if ends.is_some() {
                self.end_word();
            }
        }
        self.partial = rest.to_vec();
        Ok(())
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        self.words += 1;
        // As a whole, because the lower case of a letter may depend on its neighbours.
        let word = self.word.to_lowercase();
        self.word.clear();
        *self.counts.entry(word).or_default() += 1;
    }

    fn finish(mut self) -> Result<Counted, NotText> {
        if !self.partial.is_empty() {
            return Err(NotText);
        }
        self.end_word();
        let distinct = self.counts.len();
        let mut counts: Vec<(String, u64)> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|(a, n), (b, m)| (Reverse(n), a).cmp(&(Reverse(m), b)));
        let mut room = DEFAULT_MAX_PAYLOAD_BYTES - FRAME_BYTES;
        // Letters and digits need no escapes: two quotes, a colon and a comma around the word and the number.
        let fits = |(word, count): &&(String, u64)| {
            let bytes = word.len() + 4 + count.to_string().len();
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        };
        counts.truncate(counts.iter().take_while(fits).count());
        let truncated = counts.len() < distinct;
        Ok(Counted::Words { words: self.words, distinct: distinct as u64, counts, truncated })
    }
}

fn as_object<S: Serializer>(counts: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(word, count)| (word, count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pieces: &[&[u8]]) -> Result<(u64, Vec<(String, u64)>), NotText> {
        let mut tally = WordCounter::default();
        for piece in pieces {
            tally.take(piece)?;
        }
        match tally.finish()? {
            Counted::Words { words, counts, .. } => Ok((words, counts)),
            Counted::Skipped { .. } => Err(NotText),
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let (words, counts) = count(&["The cat, the CAT's 2nd Straße—straße ΟΔΟΣ ".as_bytes()]).unwrap();
        assert_eq!(words, 9);
        let expected = [("cat", 2), ("straße", 2), ("the", 2), ("2nd", 1), ("s", 1), ("οδος", 1)];
        assert_eq!(counts, expected.map(|(word, n)| (word.to_owned(), n)));
    }

    #[test]
    fn where_a_text_is_cut_makes_no_difference() {
        let text = "naïve façade, naïve €5 日本 tail".as_bytes();
        let whole = count(&[text]).unwrap();
        for cut in 0..=text.len() {
            let (head, tail) = text.split_at(cut);
            assert_eq!(count(&[head, tail]).unwrap(), whole, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(count(&bytes).unwrap(), whole);
    }

    #[test]
    fn what_is_not_utf_8_is_no_text_even_at_its_very_end() {
        assert_eq!(count(&[b"fine \xff not"]), Err(NotText));
        assert_eq!(count(&[b"fine \xe2\x82"]), Err(NotText));
        assert_eq!(count(&[]), Ok((0, vec![])));
    }

    #[test]
    fn counts_that_would_not_fit_are_cut_and_said_to_be() {
        let mut tally = WordCounter::default();
        for n in 0..60_000 {
            tally.take(format!("word{n} common ").as_bytes()).unwrap();
        }
        let counted = tally.finish().unwrap();
        let bytes = serde_json::to_vec(&counted).unwrap();
        assert!(bytes.len() <= DEFAULT_MAX_PAYLOAD_BYTES && bytes.len() > DEFAULT_MAX_PAYLOAD_BYTES - 1_000);
        let Counted::Words { words, distinct, counts, truncated } = counted else { panic!("a text") };
        assert_eq!((words, distinct, truncated), (120_000, 60_001, true));
        assert_eq!(counts[0], ("common".to_owned(), 60_000));
    }
}
