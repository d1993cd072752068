//! What lists share.

use jobbers_api::client::Page;
use jobbers_common::{
    limits::MAX_BATCH,
    name::{QueueName, TaskName},
};

use crate::{client::ClientArgs, failure::Failure, terminal::output};

/// Reads a list page by page: at most `limit` items that `query` selects, from `cursor` on. Answers them, and whether there
/// are more. For programs each page is printed on a line as it came, and `None` answered.
///
/// # Errors
/// When the manager can't be asked, or standard output can't be written to.
pub async fn gather<P: Page>(
    args: &ClientArgs,
    path: &str,
    query: &[(&'static str, String)],
    limit: u64,
    cursor: Option<&str>,
) -> Result<Option<(Vec<P::Item>, bool)>, Failure> {
    let client = args.client()?;
    let (mut left, mut cursor, mut items) = (limit, cursor.map(str::to_owned), Vec::new());
    loop {
        let mut query = query.to_vec();
        query.push(("limit", left.min(MAX_BATCH as u64).to_string()));
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let answer = client.get(path, Some(&query)).await?;
        let (page, next) = answer.read::<P>()?.into_parts();
        left = left.saturating_sub(page.len() as u64);
        cursor = next;
        if args.json {
            output::document(&answer.body)?;
        } else {
            items.extend(page);
        }
        if cursor.is_none() || left == 0 {
            return Ok((!args.json).then(|| (items, cursor.is_some())));
        }
    }
}

/// Which page.
#[derive(Debug, clap::Args)]
pub struct PageArgs {
    /// At most this many, up to 1,000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    limit: u64,
    /// Begin where an earlier answer's `next_cursor` says
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl PageArgs {
    /// The API's query.
    #[must_use]
    pub fn query(&self, queue: Option<&QueueName>) -> Vec<(&'static str, String)> {
        let mut query = vec![("limit", self.limit.to_string())];
        query.extend(queue.map(|queue| ("queue", queue.to_string())));
        query.extend(self.cursor.iter().map(|cursor| ("cursor", cursor.clone())));
        query
    }
}

/// The name, with the version unless it is the first.
#[must_use]
pub fn task_name(name: &TaskName, version: u32) -> String {
    if version == 1 { name.to_string() } else { format!("{name} v{version}") }
}

/// Shows a list of `count` rows, and says when there are none or more. `more` is `None` if these are all, else how many
/// there are in all, if that is known.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn show(table: &output::Table, count: usize, more: Option<Option<u64>>, none: &str) -> Result<(), Failure> {
    if count == 0 {
        output::note(none);
        return Ok(());
    }
    output::table(table)?;
    if let Some(total) = more {
        output::note(format_args!("{}: say a higher --limit", first_of(count as u64, total)));
    }
    Ok(())
}

/// Which part of the rows a list shows.
pub(crate) fn first_of(number: u64, total: Option<u64>) -> String {
    match total {
        Some(total) => format!("the first {} of {}", output::thousands(number), output::thousands(total.max(number))),
        None => format!("the first {}; more may follow", output::thousands(number)),
    }
}
