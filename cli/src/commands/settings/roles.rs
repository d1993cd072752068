//! `jobbers roles`: which queues the workers of a role serve.

use std::{collections::BTreeMap, fmt::Display, process::ExitCode, str::FromStr};

use jobbers_api::queue::role::{RoleListView, RoleView};
use jobbers_common::{
    name::{QueueName, RoleName},
    queue::{QueueOrder, pattern::QueuePattern},
};
use jobbers_process::exit;
use serde::Serialize;

use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::output,
};

/// Flags of `jobbers roles`.
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
    /// Show one role
    Show(OneRole),
    /// Create a role, or replace the queues of one; its workers follow within a second
    Set(Set),
    /// Make the workers of a role read the configuration again; they follow changes without this
    Refresh(OneRole),
    /// Delete a role
    Delete(Delete),
}

#[derive(Debug, clap::Args)]
struct OneRole {
    /// The role
    name: RoleName,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A pattern such as 'tenant-*' serves every queue whose name matches, also one that is created later; quote \
                        it, so that the shell does not replace it. \
                        Without weights an earlier queue is emptied before a later one is asked. With a weight on any \
                        of them each is asked first as often as its weight says; one without has the weight 1."
)]
struct Set {
    /// The role
    name: RoleName,
    /// Its queues, first to last: mail, or mail=3 to give it a weight; or a pattern, 'tenant-*'
    #[arg(required = true, value_name = "QUEUE[=WEIGHT]")]
    queues: Vec<QueueShare<QueuePattern>>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, clap::Args)]
struct Delete {
    #[command(flatten)]
    one: OneRole,
    /// Even while live workers serve it: they claim nothing until there is a role of that name again
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// A queue, and how much of something it gets if that is said.
#[derive(Debug, Clone)]
pub(in crate::commands) struct QueueShare<Q = QueueName> {
    pub(in crate::commands) queue: Q,
    pub(in crate::commands) weight: Option<u32>,
}

impl<Q: FromStr<Err: Display>> FromStr for QueueShare<Q> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (queue, weight) = text.split_once('=').map_or((text, None), |(queue, weight)| (queue, Some(weight)));
        let weight = weight.map(|weight| match weight.parse() {
            Ok(weight) if weight > 0 => Ok(weight),
            _ => Err(format!("{weight:?} is no weight: write a whole number from 1")),
        });
        let queue = queue.parse().map_err(|error: Q::Err| error.to_string())?;
        Ok(Self { queue, weight: weight.transpose()? })
    }
}

/// What is put.
#[derive(Debug, Serialize)]
struct Settings<'a> {
    queues: Vec<&'a QueuePattern>,
    order: QueueOrder,
    weights: BTreeMap<&'a QueuePattern, u32>,
}

impl<'a> From<&'a [QueueShare<QueuePattern>]> for Settings<'a> {
    fn from(shares: &'a [QueueShare<QueuePattern>]) -> Self {
        let weights: BTreeMap<_, _> = shares.iter().filter_map(|share| Some((&share.queue, share.weight?))).collect();
        let order = if weights.is_empty() { QueueOrder::Strict } else { QueueOrder::Weighted };
        Self { queues: shares.iter().map(|share| &share.queue).collect(), order, weights }
    }
}

/// Lists the roles, or does what is asked with one.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => list(&args.client).await?,
        Some(Action::Show(one)) => show(one).await?,
        Some(Action::Set(set)) => {
            let path = client::role_path(&set.name);
            let answer = set.client.client()?.put(&path, &Settings::from(set.queues.as_slice())).await?;
            output::done(&answer.body, set.client.json, format_args!("role {} set", set.name))?;
        }
        Some(Action::Refresh(one)) => {
            let path = format!("{}/refresh", client::role_path(&one.name));
            let answer = one.client.client()?.post(&path, client::NOTHING).await?;
            output::done(&answer.body, one.client.json, format_args!("the workers of role {} look again", one.name))?;
        }
        Some(Action::Delete(delete)) => return remove(delete).await,
    }
    Ok(exit::OK)
}

async fn list(args: &ClientArgs) -> Result<(), Failure> {
    let answer = args.client()?.get("/roles", client::NOTHING).await?;
    if args.json {
        return output::document(&answer.body);
    }
    let RoleListView { roles } = answer.read()?;
    let mut table = output::table_of(&["ROLE", "ORDER", "QUEUES"]);
    for role in &roles {
        table.add_row(vec![(&role.name).into(), role.order.to_string().into(), output::Cell::new(queues_of(role))]);
    }
    output::table(&table)
}

/// The queues, with their weights where these count.
fn queues_of(role: &RoleView) -> String {
    let weight = |queue: &QueuePattern| role.weights.get(queue).copied().unwrap_or(1);
    let shown = |queue: &QueuePattern| match role.order {
        QueueOrder::Weighted => format!("{queue}={}", weight(queue)),
        QueueOrder::Strict => queue.to_string(),
    };
    role.queues.iter().map(shown).collect::<Vec<_>>().join(", ")
}

async fn show(one: &OneRole) -> Result<(), Failure> {
    let answer = one.client.client()?.get(&client::role_path(&one.name), client::NOTHING).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    let role: RoleView = answer.read()?;
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "role", &role.name);
    output::add_fact(&mut sheet, "order", role.order);
    output::add_fact(&mut sheet, "queues", queues_of(&role));
    if role.queues.iter().any(QueuePattern::is_pattern) {
        let serves: Vec<&str> = role.serves.iter().map(QueueName::as_str).collect();
        let serves = Some(serves.join(", ")).filter(|serves| !serves.is_empty());
        output::add_fact(&mut sheet, "serves now", output::or_dash(serves));
    }
    output::table(&sheet)
}

async fn remove(Delete { one, force, yes }: &Delete) -> Result<ExitCode, Failure> {
    let client = one.client.client()?;
    if !yes && !output::confirm(&format!("Delete role {}?", one.name))? {
        return Ok(exit::FAILURE.into());
    }
    let query: &[_] = if *force { &[("force", true)] } else { &[] };
    let answer = client.delete_where(&client::role_path(&one.name), query).await?;
    output::done(&answer.body, one.client.json, format_args!("role {} deleted", one.name))?;
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_weight_makes_the_order_weighted() {
        let settings = |texts: &[&str]| {
            let shares: Vec<QueueShare<QueuePattern>> = texts.iter().map(|text| text.parse().unwrap()).collect();
            serde_json::to_value(Settings::from(shares.as_slice())).unwrap()
        };
        let plain = serde_json::json!({"queues": ["b", "a"], "order": "strict", "weights": {}});
        assert_eq!(settings(&["b", "a"]), plain);
        let weighted = serde_json::json!({"queues": ["b", "a"], "order": "weighted", "weights": {"a": 3}});
        assert_eq!(settings(&["b", "a=3"]), weighted);
        let patterns =
            serde_json::json!({"queues": ["b", "tenant-*"], "order": "weighted", "weights": {"tenant-*": 3}});
        assert_eq!(settings(&["b", "tenant-*=3"]), patterns);
    }

    #[test]
    fn a_weight_is_a_whole_number_from_one() {
        for bad in ["mail=0", "mail=-1", "mail=", "mail=1.5", "=3", "ma il", "mail=1=2"] {
            bad.parse::<QueueShare>().unwrap_err();
            bad.parse::<QueueShare<QueuePattern>>().unwrap_err();
        }
    }

    #[test]
    fn only_a_role_takes_a_pattern() {
        "tenant-*=2".parse::<QueueShare>().unwrap_err();
        let share: QueueShare<QueuePattern> = "tenant-*=2".parse().unwrap();
        assert_eq!((share.queue.as_str(), share.weight), ("tenant-*", Some(2)));
        "tenant-**".parse::<QueueShare<QueuePattern>>().unwrap_err();
    }
}
