//! Texts that people write without a bound, and stores keep within one.

/// The text, or as much of its beginning as fits in `most` bytes together with a `…`, cut at a character.
pub(crate) fn cut(mut text: String, most: usize) -> String {
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
