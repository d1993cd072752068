//! A text file in parts so small that the words of each fit in one result.
//!
//! A result is bounded, so the words of a very large file don't fit in it; then `text.wordcount` says that the rarest
//! were left out. The demo counts such a file again in parts, and adds them up.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use jobbers_engines::ordinary_file::OrdinaryFile;

/// A word of `n` bytes takes `n + 1` in a text at least, and `n + 5` in a result; so the words of this much text never
/// fill one of 256 KiB.
const PART_BYTES: usize = 48 * 1024;

/// Writes the parts of `file` into `folder`, in files that begin with `name`. No word is cut.
///
/// # Errors
/// When the file can't be read, is not UTF-8, or the parts can't be written.
pub fn into_parts(file: &Path, folder: &Path, name: &str) -> io::Result<Vec<PathBuf>> {
    let mut text = String::new();
    OrdinaryFile::open(file)?.read_to_string(&mut text)?;
    parts(&text)
        .enumerate()
        .map(|(number, part)| {
            let path = folder.join(format!("{name}-{number}"));
            fs::File::create(&path)?.write_all(part.as_bytes())?;
            Ok(path)
        })
        .collect()
}

fn parts(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (part, rest) = text.split_at(end_of_part(text));
        text = rest;
        Some(part)
    })
}

/// Behind the first character that is no part of a word, from [`PART_BYTES`] on.
fn end_of_part(text: &str) -> usize {
    let from = text.ceil_char_boundary(PART_BYTES);
    let end = text[from..].char_indices().find(|(_, character)| !character.is_alphanumeric());
    end.map_or(text.len(), |(at, character)| from + at + character.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_and_cut_no_word() {
        let text: String = (0..40_000).map(|n| format!("wörd{n} ")).collect();
        let cut: Vec<&str> = parts(&text).collect();
        assert!(cut.len() > 5);
        assert_eq!(cut.concat(), text);
        assert!(cut.iter().all(|part| part.ends_with(' ') && part.len() <= PART_BYTES + 20));
    }

    #[test]
    fn a_word_longer_than_a_part_stays_whole() {
        let long = "a".repeat(3 * PART_BYTES);
        assert_eq!(parts(&format!("{long} b")).collect::<Vec<_>>(), [format!("{long} "), "b".to_owned()]);
        assert_eq!(parts("").count(), 0);
    }
}
