//! The import of a catalogue: as many tasks as it has pieces, and one that collects what they found.

use jobbers_worker::{
    canvas::{ResultsOf, map},
    prelude::*,
};

use crate::services::Services;

/// Rows that one task checks.
const ROWS: usize = 50;

/// Some rows of a catalogue: `number;cents`.
#[derive(Debug, Serialize, Deserialize)]
struct Piece {
    first: usize,
    rows: Vec<String>,
}

/// What came of a piece, or of a whole catalogue.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Imported {
    pub(crate) products: u64,
    pub(crate) cents: u64,
    /// The numbers of lines that make no sense.
    pub(crate) wrong: Vec<usize>,
}

/// Splits a catalogue, and spawns a task for each piece and one after them. An attempt that is repeated spawns nothing twice. Returns
/// the id of the last task.
#[task(max_retries = 5, retry_delay = "5s")]
pub(crate) async fn import(ctx: Context, services: State<Services>, file: PathBuf) -> Result<String, TaskError> {
    let text = tokio::fs::read_to_string(services.file(&file)).await?;
    let rows: Vec<String> = text.lines().map(str::to_owned).collect();
    let pieces = rows.chunks(ROWS).enumerate().map(|(n, rows)| Piece { first: n * ROWS + 1, rows: rows.to_vec() });
    let last = ctx.spawn("pieces", map(&check, pieces).then(&publish)).await?;
    services.note(&ctx, "split")?;
    Ok(last.id().to_string())
}

/// Checks the rows of a piece. A wrong row is a result, not an error: the other rows count.
#[task(max_retries = 5, retry_delay = "5s")]
async fn check(ctx: Context, services: State<Services>, piece: Piece) -> Result<Imported, TaskError> {
    services.call().await;
    let mut imported = Imported::default();
    for (n, row) in piece.rows.iter().enumerate() {
        match row.split_once(';').and_then(|(_, cents)| cents.parse::<u64>().ok()) {
            Some(cents) => {
                imported.products += 1;
                imported.cents += cents;
            }
            None => imported.wrong.push(piece.first + n),
        }
    }
    services.note(&ctx, "checked")?;
    Ok(imported)
}

/// Runs when all pieces are checked.
#[task(max_retries = 5, retry_delay = "5s")]
async fn publish(ctx: Context, services: State<Services>, pieces: ResultsOf<Imported>) -> Result<Imported, TaskError> {
    let mut all = Imported::default();
    for piece in pieces.read(&ctx).await? {
        all.products += piece.products;
        all.cents += piece.cents;
        all.wrong.extend(piece.wrong);
    }
    services.note(&ctx, "published")?;
    Ok(all)
}
