//! `file.digest`: the SHA-256 of a file.

use std::{
    io::{ErrorKind, Read},
    path::PathBuf,
};

use jobbers_engines::ordinary_file::OrdinaryFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::root::open;
use crate::{Context, TaskError, task};

const CHUNK: usize = 256 * 1024;

/// The parameters of `file.digest`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// The file, as the worker sees it; below its `--stock-root`.
    pub path: PathBuf,
}

/// The result of `file.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digested {
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// The SHA-256 of a file, read in pieces.
#[task(name = "file.digest", blocking, unlisted)]
pub fn digest(ctx: Context, job: Digest) -> Result<Digested, TaskError> {
    let mut file = open(&ctx, &job.path)?;
    let length = file.length().unwrap_or(0);
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = read_some(&mut file, &mut chunk)?;
        if read.is_empty() {
            break;
        }
        hash.update(read);
        bytes += read.len() as u64;
        #[expect(clippy::cast_precision_loss, reason = "a fraction to look at")]
        let fraction = bytes as f64 / length.max(bytes) as f64;
        ctx.blocking_progress(fraction, "")?;
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Digested { sha256, bytes })
}

/// Reads the next piece, at most a chunk; empty at the end.
pub(super) fn read_some<'a>(file: &mut OrdinaryFile, chunk: &'a mut [u8]) -> Result<&'a [u8], TaskError> {
    loop {
        match file.read(chunk) {
            Ok(length) => return Ok(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use jobbers_common::payload::Payload;

    use super::{super::StockRoot, *};

    #[tokio::test]
    async fn a_file_s_digest_is_that_of_its_bytes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        let job = Digest { path: file.path().to_owned() };
        let root: StockRoot = file.path().parent().into_iter().collect();
        let ctx = Context::detached_with_state(Payload::json(&b"{}"[..]), root);
        let digested = digest.call(ctx, job).await.unwrap();
        // FIPS 180-2, appendix B.1.
        assert_eq!(digested.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digested.bytes, 3);
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_not_tried_again() {
        let job = Digest { path: "no/such/file".into() };
        let error = digest.call(Context::detached(Payload::json(&b"{}"[..])), job).await.unwrap_err();
        assert!(matches!(error, TaskError::Fatal(reason) if reason.message.contains("no/such/file")));
    }
}
