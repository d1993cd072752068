//! Writes a journal line by line, with its counts and its digest.

use std::io::Write;

use sha2::{Digest, Sha256};

use super::{Counts, END, Error, Header, JournalEntry, Result, Trailer};

/// A journal that is being written.
pub(super) struct JournalWriter<W> {
    into: W,
    digest: Sha256,
    counts: Counts,
}

impl<W: Write> JournalWriter<W> {
    /// Begins a journal.
    pub(super) fn begin(into: W, header: &Header) -> Result<Self> {
        let mut writer = Self { into, digest: Sha256::new(), counts: Counts::new() };
        writer.line(&encode(header)?)?;
        Ok(writer)
    }

    fn line(&mut self, text: &str) -> Result<()> {
        for bytes in [text.as_bytes(), b"\n"] {
            self.digest.update(bytes);
            self.into.write_all(bytes)?;
        }
        Ok(())
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, entry: &JournalEntry) -> Result<()> {
        *self.counts.entry(entry.kind().to_owned()).or_default() += 1;
        self.line(&entry.write().map_err(|error| Error::Defect(error.to_string()))?)
    }

    /// Writes the last line. Returns what was written, and how many entries.
    pub(super) fn end(mut self) -> Result<(W, Counts)> {
        let digest = hex(&self.digest.clone().finalize());
        let end = Trailer { kind: END.to_owned(), counts: self.counts.clone(), digest };
        self.line(&encode(&end)?)?;
        self.into.flush()?;
        Ok((self.into, self.counts))
    }
}

fn encode(line: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(line).map_err(|error| Error::Defect(error.to_string()))
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
