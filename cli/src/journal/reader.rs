//! Reads a journal: first all of it for the check, then as often as needed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    path::Path,
};

use jobbers_common::name::BoardName;
use sha2::{Digest, Sha256};

use super::{Counts, Error, Header, JournalEntry, MAX_LINE_BYTES, Result, Trailer, VERSION, writer::hex};

/// A whole journal, checked from end to end.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// Its first line.
    pub header: Header,
    /// How many entries it has.
    pub counts: Counts,
    /// The counters of its boards.
    pub boards: BTreeMap<BoardName, u64>,
}

impl Journal {
    /// Opens a file and checks it.
    ///
    /// # Errors
    /// [`Error::Line`] for the first line that is wrong: of another format or version, damaged, of an unknown kind, or too
    /// long; for a journal that was cut short, and one whose counts or digest differ from its entries.
    pub fn open(path: &Path) -> Result<Self> {
        Self::check(File::open(path)?)
    }

    /// Copies a stream into a temporary file, and checks that.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn spool(mut stream: impl Read) -> Result<Self> {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut stream, &mut file)?;
        Self::check(file)
    }

    fn check(file: File) -> Result<Self> {
        let mut lines = JournalLines::new(&file)?;
        let Some(first) = lines.next()? else { return Err(lines.wrong("the file is empty: this is no journal")) };
        let header = read_header(&first).map_err(|why| lines.wrong(why))?;
        let (mut counts, mut boards, mut digest) = (Counts::new(), BTreeMap::new(), Sha256::new());
        digest.update(&first);
        loop {
            let Some(line) = lines.next()? else {
                return Err(lines.wrong("the journal ends without its last line: it was cut short"));
            };
            match read_entry(&line).map_err(|why| lines.wrong(why))? {
                Some(entry) => {
                    *counts.entry(entry.kind().to_owned()).or_default() += 1;
                    if let JournalEntry::Board(board) = entry {
                        boards.insert(board.name, board.revision);
                    }
                }
                None => {
                    let end: Trailer = serde_json::from_slice(&line)
                        .map_err(|error| lines.wrong(format!("it is damaged: {error}")))?;
                    if end.digest != hex(&digest.finalize()) || end.counts != counts {
                        return Err(lines.wrong(
                            "the digest or the counts are not those of the lines before: the journal is damaged",
                        ));
                    }
                    if lines.next()?.is_some() {
                        return Err(lines.wrong("the journal goes on behind its last line"));
                    }
                    return Ok(Self { file, header, counts, boards });
                }
            }
            digest.update(&line);
        }
    }

    /// Passes each entry to `take`, in their order.
    ///
    /// # Errors
    /// Those of the file, and of `take`.
    pub async fn each(&self, mut take: impl AsyncFnMut(JournalEntry) -> Result<()>) -> Result<()> {
        let mut lines = JournalLines::new(&self.file)?;
        lines.next()?;
        while let Some(line) = lines.next()? {
            let Some(entry) = read_entry(&line).map_err(|why| lines.wrong(why))? else { break };
            take(entry).await?;
        }
        Ok(())
    }
}

/// The lines of a file, each with its end.
struct JournalLines<'a> {
    reader: BufReader<&'a File>,
    /// The number of the line that was read last.
    line: u64,
}

impl<'a> JournalLines<'a> {
    fn new(mut file: &'a File) -> Result<Self> {
        file.rewind()?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, file), line: 0 })
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        self.line += 1;
        let limit = MAX_LINE_BYTES as u64 + 1;
        self.reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
        match line.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(line)),
            Some(_) if line.len() > MAX_LINE_BYTES => {
                Err(self.wrong(format!("it is longer than {MAX_LINE_BYTES} bytes: this is no journal")))
            }
            Some(_) => Err(self.wrong("it has no end: the journal was cut short")),
        }
    }

    fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Line { line: self.line, why: why.into() }
    }
}

fn text_of(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|_| "it is not UTF-8: it is damaged".to_owned())
}

fn read_header(line: &[u8]) -> Result<Header, String> {
    /// The version alone, which is read first.
    #[derive(serde::Deserialize)]
    struct JournalVersion {
        journal: u32,
    }
    let text = text_of(line)?;
    let foreign = "it is not the first line of a journal, as `jobbers export` writes it";
    let JournalVersion { journal } = serde_json::from_str(text).map_err(|_| foreign.to_owned())?;
    if journal != VERSION {
        return Err(format!("the journal has version {journal}; this program reads version {VERSION}"));
    }
    serde_json::from_str(text).map_err(|_| foreign.to_owned())
}

fn read_entry(line: &[u8]) -> Result<Option<JournalEntry>, String> {
    JournalEntry::read(text_of(line)?)
}
