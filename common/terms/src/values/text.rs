//! Texts that people write without a bound, and stores keep within one.

/// The text, or as much of its beginning as fits in `most` bytes together with a `…`, cut at a character.
#[must_use]
pub fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let mut end = most.saturating_sub('…'.len_utf8());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

/// What an error shows of a text that was not understood: its beginning.
#[must_use]
pub fn beginning(text: &str) -> String {
    cut(text.chars().take(40).collect(), 40)
}

/// How many bytes of a sentence about a client's request are shown at most.
pub const MAX_SENTENCE_BYTES: usize = 1_024;

/// A sentence that may repeat what a client sent: if it is longer than [`MAX_SENTENCE_BYTES`], its middle is left out. So
/// its beginning, which names the place, and its end, which says what to do, are kept.
#[must_use]
pub fn excerpt(sentence: String) -> String {
    if sentence.len() <= MAX_SENTENCE_BYTES {
        return sentence;
    }
    let (head, tail) = (MAX_SENTENCE_BYTES * 5 / 8, MAX_SENTENCE_BYTES / 4);
    let end = sentence.floor_char_boundary(head);
    let start = sentence.ceil_char_boundary(sentence.len() - tail);
    format!("{}… ({} bytes left out) …{}", &sentence[..end], start - end, &sentence[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sentence_keeps_its_ends_and_says_how_much_is_missing() {
        assert_eq!(excerpt("short".to_owned()), "short");
        for filling in ["x", "é", "数", "🦀"] {
            for length in [1_000, 1_025, 5_000_000] {
                let filling = filling.repeat(length / filling.len());
                let sentence = format!("the field a has {filling:?}; write b");
                let shown = excerpt(sentence.clone());
                assert!(shown.len() <= MAX_SENTENCE_BYTES, "{} bytes of {}", shown.len(), sentence.len());
                assert!(shown.starts_with("the field a has ") && shown.ends_with("; write b"), "{shown}");
                let is_whole = shown == sentence;
                assert_eq!(is_whole, sentence.len() <= MAX_SENTENCE_BYTES);
                assert_eq!(is_whole, !shown.contains("bytes left out"));
            }
        }
    }
}
