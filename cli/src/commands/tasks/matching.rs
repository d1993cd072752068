//! The tasks that a command acts on: by their ids, or those that match a filter after a look at them.

use jobbers_api::task::list::TaskPageView;
use jobbers_common::{limits::MAX_BATCH, name::TaskId};

use crate::{
    client::ManagerClient,
    commands::tasks::list::{self, Purpose},
    failure::Failure,
    filter::FilterArgs,
    terminal::output,
};

/// Tasks shown before a command acts on those that match.
const PREVIEW: u64 = 10;

/// Which tasks are meant.
pub(super) enum MeantTasks {
    /// These.
    Ids(Vec<TaskId>),
    /// Those that match.
    Matching(Box<FilterArgs>),
}

/// What the arguments name.
///
/// # Errors
/// [`Failure::Usage`] unless there are either ids or a filter.
pub(super) fn meant(ids: Vec<TaskId>, filter: FilterArgs) -> Result<MeantTasks, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    match (ids.is_empty(), filter.is_empty()) {
        (true, true) => usage("name tasks by their ids, or by a filter such as --queue or --name"),
        (false, false) => usage("name tasks by their ids or by a filter, not by both"),
        (false, true) => Ok(MeantTasks::Ids(ids)),
        (true, false) => Ok(MeantTasks::Matching(Box::new(filter))),
    }
}

/// What a command does, as its question says it: `Cancel {}?` for the number or `them all`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    /// Before the tasks.
    pub(super) verb: &'static str,
    /// After them.
    pub(super) rest: &'static str,
    /// When no task matches.
    pub(super) nothing: &'static str,
}

/// A walk through the tasks that match, by the API's cursor: so each is met once, although some go on matching.
pub(super) struct MatchWalk<'a> {
    client: &'a ManagerClient,
    filter: FilterArgs,
    cursor: Option<String>,
    is_over: bool,
}

impl<'a> MatchWalk<'a> {
    pub(super) const fn new(client: &'a ManagerClient, filter: FilterArgs) -> Self {
        Self { client, filter, cursor: None, is_over: false }
    }

    /// The ids of the next tasks; `None` at the end.
    ///
    /// # Errors
    /// When the manager can't be asked.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<TaskId>>, Failure> {
        while !self.is_over {
            let answer =
                list::page(self.client, &self.filter, MAX_BATCH as u64, self.cursor.as_deref(), Purpose::Act).await?;
            let page: TaskPageView = answer.read()?;
            self.is_over = page.next_cursor.is_none();
            self.cursor = page.next_cursor;
            if !page.tasks.is_empty() {
                return Ok(Some(page.tasks.into_iter().map(|task| task.id).collect()));
            }
        }
        Ok(None)
    }
}

/// Shows the first tasks that match, and asks.
///
/// # Errors
/// When the manager can't be asked; without a terminal to ask at.
pub(super) async fn agreed(client: &ManagerClient, filter: &FilterArgs, question: Question) -> Result<bool, Failure> {
    let mut preview: TaskPageView = list::page(client, filter, PREVIEW, None, Purpose::Show).await?.read()?;
    // A search by parameters may have to go on for its first task.
    while preview.tasks.is_empty()
        && let Some(cursor) = preview.next_cursor.as_deref()
    {
        preview = list::page(client, filter, PREVIEW, Some(cursor), Purpose::Show).await?.read()?;
    }
    if preview.tasks.is_empty() {
        output::note(question.nothing);
        return Ok(false);
    }
    output::note_table(&list::table(&preview.tasks));
    let Question { verb, rest, .. } = question;
    let asked = match (preview.next_cursor, preview.total) {
        (None, _) => format!("{verb} {}{rest}?", output::count(preview.tasks.len() as u64, "task")),
        (Some(_), Some(total)) => format!("{} match. {verb} them all{rest}?", output::count(total, "task")),
        (Some(_), None) => format!("These and more match. {verb} them all{rest}?"),
    };
    output::confirm(&asked)
}
