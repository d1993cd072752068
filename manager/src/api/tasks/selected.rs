//! The tasks that a request names by their ids or by a filter.

use jobbers_api::{
    problem::{Code, Result},
    task::selection::TaskSelection,
    value::Asked,
};
use jobbers_common::{name::TaskId, task::Task};

use crate::{api::lists::listing, app::App};

/// The tasks that are meant, and with a filter where the next call goes on. Of those that match, `wanted` keeps some.
pub(super) async fn find(
    app: &App,
    selection: TaskSelection,
    wanted: impl Fn(&Task) -> bool,
) -> Result<(Vec<Asked<TaskId>>, Option<String>)> {
    match selection {
        TaskSelection::Ids(ids) => Ok((ids, None)),
        TaskSelection::Matching { filter, limit, cursor } => {
            let page = listing::fill(&*app.engine, *filter, limit, cursor, wanted)
                .await
                .map_err(|problem| problem.recode(Code::InvalidParameter, Code::InvalidRequest).at("/cursor"))?;
            Ok((page.tasks.into_iter().map(|task| task.id.into()).collect(), page.next))
        }
    }
}
