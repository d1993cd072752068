//! `jobbers boards`: what clients of MassTasker and TaskStore keep, and what can be done with it.

use std::process::ExitCode;

use jobbers_api::{
    board::{BoardListView, BoardTaskListView, BoardTaskView, GroupListView},
    queue::PurgedView,
};
use jobbers_common::name::BoardName;
use jobbers_process::exit;

use super::pages;
use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output,
    },
};

/// Flags of `jobbers boards`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the groups of a board, with how many tasks each holds
    Groups(Groups),
    /// List the tasks of a group, in the order in which they are taken
    List(List),
    /// Show one task of a board
    Show(OneTask),
    /// Delete tasks of a board, by revision or a whole group; leased ones too
    Delete(Delete),
    /// Make a task visible now: end its lease, or its delay
    Release(OneTask),
}

#[derive(Debug, clap::Args)]
struct Groups {
    /// The board
    board: BoardName,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct List {
    /// The board
    board: BoardName,
    /// The group: any text, also an empty one
    group: String,
    /// Only tasks that are visible now
    #[arg(long)]
    visible: bool,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct OneTask {
    /// The board
    board: BoardName,
    /// The task's revision: its address until its next change
    revision: u64,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Delete {
    /// The board
    board: BoardName,
    /// The revisions of the tasks
    #[arg(required_unless_present = "group", conflicts_with = "group")]
    revisions: Vec<u64>,
    /// Every task of this group, visible or not
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// Lists the boards, or does what is asked with one.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => boards(&args.client).await?,
        Some(Action::Groups(asked)) => groups(asked).await?,
        Some(Action::List(asked)) => list(asked).await?,
        Some(Action::Show(one)) => {
            let answer = one.client.client()?.get(&task_path(&one.board, one.revision), client::NOTHING).await?;
            show(&answer, one.client.json)?;
        }
        Some(Action::Delete(delete)) => return run_delete(delete).await,
        Some(Action::Release(one)) => {
            let path = format!("{}/release", task_path(&one.board, one.revision));
            let answer = one.client.client()?.post(&path, client::NOTHING).await?;
            let task: BoardTaskView = answer.read()?;
            output::done(&answer.body, one.client.json, format_args!("visible, at revision {}", task.revision))?;
        }
    }
    Ok(exit::OK)
}

fn task_path(board: &BoardName, revision: u64) -> String {
    client::board_path(board, &format!("tasks/{revision}"))
}

async fn boards(args: &ClientArgs) -> Result<(), Failure> {
    let Some((boards, _)) = pages::gather::<BoardListView>(args, "/boards", &[], u64::MAX, None).await? else {
        return Ok(());
    };
    if boards.is_empty() {
        output::note("no boards: they come with the first task of a client of MassTasker or TaskStore");
        return Ok(());
    }
    let mut table = output::table_of(&["BOARD", "TASKS", "REVISION"]);
    for board in boards {
        table.add_row([board.name.into(), output::number(board.tasks), output::number(board.revision)]);
    }
    output::table(&table)
}

async fn groups(Groups { board, limit, client }: &Groups) -> Result<(), Failure> {
    let path = client::board_path(board, "groups");
    let Some((groups, more)) = pages::gather::<GroupListView>(client, &path, &[], *limit, None).await? else {
        return Ok(());
    };
    let mut table = output::table_of(&["GROUP", "TASKS"]);
    for group in &groups {
        table.add_row(vec![name_of(&group.group).into(), output::number(group.tasks)]);
    }
    pages::show(&table, groups.len(), more.then_some(None), "no group holds a task")
}

/// A group as a cell: an empty name is seen.
fn name_of(group: &str) -> String {
    if group.is_empty() { "\"\"".to_owned() } else { group.escape_debug().to_string() }
}

async fn list(List { board, group, visible, limit, client }: &List) -> Result<(), Failure> {
    let query = [("group", group.clone()), ("visible", visible.to_string())];
    let path = client::board_path(board, "tasks");
    let Some((tasks, more)) = pages::gather::<BoardTaskListView>(client, &path, &query, *limit, None).await? else {
        return Ok(());
    };
    let columns = [
        Column::number("REVISION"),
        Column::number("VISIBLE"),
        Column::number("OWNER").giving_way(2),
        Column::number("BYTES").giving_way(1),
        Column::cut_to("TYPE", 8).giving_way(3),
        Column::cut_to("DATA", 12),
    ];
    let row = |task: &BoardTaskView| {
        vec![
            task.revision.into(),
            if task.visible { "now".into() } else { task.at.to_string().into() },
            task.owner.into(),
            task.data_bytes.into(),
            (&task.data_type).into(),
            preview(&task.data).into(),
        ]
    };
    let table = fit::table(&columns, tasks.iter().map(row).collect());
    pages::show(&table, tasks.len(), more.then_some(None), "the group holds no such task")
}

/// The beginning of data on a line.
fn preview(data: &str) -> String {
    const SHOWN: usize = 60;
    let line: String = data.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if data.chars().nth(SHOWN).is_some() { format!("{line}\u{2026}") } else { line }
}

fn show(answer: &client::Answer, json: bool) -> Result<(), Failure> {
    if json {
        return output::document(&answer.body);
    }
    let task: BoardTaskView = answer.read()?;
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "revision", task.revision.to_string());
    output::add_fact(&mut sheet, "group", name_of(&task.group));
    let visible = if task.visible { format!("since {}", task.at) } else { format!("from {} on", task.at) };
    output::add_fact(&mut sheet, "visible", visible);
    output::add_fact(&mut sheet, "owner", task.owner.to_string());
    for (label, value) in &task.labels {
        output::add_fact(&mut sheet, "label", format!("{}={}", label.escape_debug(), value.escape_debug()));
    }
    for (name, value) in [("type", &task.data_type), ("error", &task.error)] {
        if !value.is_empty() {
            output::add_fact(&mut sheet, name, value.escape_debug().to_string());
        }
    }
    let beginning = if task.truncated { ", its beginning" } else { "" };
    output::add_fact(&mut sheet, "data", format!("{} bytes, as {}{beginning}", task.data_bytes, task.data_encoding));
    output::table(&sheet)?;
    output::line(if task.data_encoding == "text" { visible_text(&task.data) } else { task.data })
}

/// Text without the characters that steer a terminal.
fn visible_text(data: &str) -> String {
    data.chars()
        .map(|letter| if letter.is_control() && letter != '\n' && letter != '\t' { '\u{fffd}' } else { letter })
        .collect()
}

async fn run_delete(delete: &Delete) -> Result<ExitCode, Failure> {
    let Delete { board, revisions, group, yes, client: args } = delete;
    let client = args.client()?;
    let what = match group {
        Some(group) => format!("every task of group {}", name_of(group)),
        None => output::count(revisions.len() as u64, "task"),
    };
    if !yes && !output::confirm(&format!("Delete {what} of board {board}?"))? {
        return Ok(exit::FAILURE.into());
    }
    let Some(group) = group else {
        for revision in revisions {
            let answer = client.delete(&task_path(board, *revision)).await?;
            output::done(&answer.body, args.json, format_args!("task {revision} deleted"))?;
        }
        return Ok(exit::OK);
    };
    let (path, mut removed) = (client::board_path(board, "tasks"), 0);
    loop {
        let answer = client.delete_where(&path, &[("group", group)]).await?;
        let purged: PurgedView = answer.read()?;
        removed += purged.removed;
        if args.json {
            output::document(&answer.body)?;
        }
        if !purged.more {
            break;
        }
    }
    if !args.json {
        output::line(format_args!("{} deleted", output::count(removed, "task")))?;
    }
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_data_are_seen_and_steer_no_terminal() {
        assert_eq!([name_of(""), name_of("a b"), name_of("a\n")], ["\"\"", "a b", "a\\n"]);
        assert_eq!(preview(&"x".repeat(60)), "x".repeat(60));
        assert_eq!(preview(&"\u{e9}".repeat(61)), format!("{}\u{2026}", "\u{e9}".repeat(60)));
        assert_eq!(preview("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(visible_text("a\n\tb\u{1b}[2J"), "a\n\tb\u{fffd}[2J");
    }
}
