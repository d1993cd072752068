//! Words counted directly, on one thread: what the tasks' answers are checked with.
//!
//! Written independently of the worker's `text.wordcount`, from the same sentence: a word is a maximal run of Unicode
//! alphanumeric characters, lower-cased.

use std::{
    collections::HashMap,
    io::{self, BufReader, Read},
    path::Path,
};

use jobbers_engines::ordinary_file::OrdinaryFile;

/// How often each word occurs.
pub type Counts = HashMap<String, u64>;

const CHUNK_BYTES: usize = 256 * 1024;

/// Whether a file is UTF-8 without a NUL byte.
///
/// # Errors
/// When it can't be read.
pub fn is_text(path: &Path) -> io::Result<bool> {
    let mut is_clean = true;
    let is_utf8 = read_text(path, |text| {
        is_clean &= !text.contains('\0');
        is_clean
    })?;
    Ok(is_utf8 && is_clean)
}

/// Counts the words of a text file.
///
/// # Errors
/// When it can't be read, or is not UTF-8.
pub fn words_of(path: &Path) -> io::Result<Counts> {
    let (mut counts, mut word) = (Counts::new(), String::new());
    let is_utf8 = read_text(path, |text| {
        for character in text.chars() {
            if character.is_alphanumeric() {
                word.push(character);
            } else {
                take(&mut word, &mut counts);
            }
        }
        true
    })?;
    take(&mut word, &mut counts);
    if is_utf8 { Ok(counts) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8")) }
}

fn take(word: &mut String, counts: &mut Counts) {
    if !word.is_empty() {
        *counts.entry(word.to_lowercase()).or_default() += 1;
        word.clear();
    }
}

/// Reads a file piece by piece, however large it is, until `each` says false. Answers whether what was read is UTF-8.
fn read_text(path: &Path, mut each: impl FnMut(&str) -> bool) -> io::Result<bool> {
    let mut file = BufReader::new(OrdinaryFile::open(path)?);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut held = 0;
    loop {
        let read = file.read(&mut chunk[held..])?;
        if read == 0 {
            return Ok(held == 0);
        }
        let filled = held + read;
        let valid = match std::str::from_utf8(&chunk[..filled]) {
            Ok(_) => filled,
            Err(error) if error.error_len().is_some() => return Ok(false),
            Err(error) => error.valid_up_to(),
        };
        let text = std::str::from_utf8(&chunk[..valid]).unwrap_or_default();
        if !each(text) {
            return Ok(true);
        }
        // At most three bytes: the beginning of a character that ends in the next piece.
        chunk.copy_within(valid..filled, 0);
        held = filled - valid;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn counted(text: &str) -> Vec<(String, u64)> {
        let mut counts: Vec<_> = words_of(file(text.as_bytes()).path()).unwrap().into_iter().collect();
        counts.sort();
        counts
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let words = counted("It's the END, the_end: ΟΔΟΣ 2x\n");
        let expected = [("2x", 1), ("end", 2), ("it", 1), ("s", 1), ("the", 2), ("οδος", 1)];
        assert_eq!(words, expected.map(|(word, count)| (word.to_owned(), count)));
        assert_eq!(counted(" \n"), []);
    }

    #[test]
    fn a_word_and_a_character_across_two_pieces_are_one() {
        // An odd number of bytes before, so that a two-byte character lies across the border of two pieces.
        let text = format!("x{} end", "ä".repeat(CHUNK_BYTES));
        assert_eq!(counted(&text), [("end".to_owned(), 1), (text.split(' ').next().unwrap().to_owned(), 1)]);
    }

    #[test]
    fn what_is_not_utf_8_is_no_text() {
        for (content, is) in
            [(&b"fine"[..], true), (b"", true), (b"a\0b", false), (b"a\xffb", false), (b"cut \xe2\x82", false)]
        {
            assert_eq!(is_text(file(content).path()).unwrap(), is, "{content:?}");
        }
        assert!(words_of(file(b"\xff").path()).is_err());
    }
}
