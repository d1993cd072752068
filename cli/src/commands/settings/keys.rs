//! `jobbers keys`: what clients of managers sign in with. It uses the store's address, because the first key can't be asked
//! for with a key, and any program that can write the store owns it anyway; or a manager, with a key that may do this.

use std::{process::ExitCode, time::Duration};

use jobbers_api::access::key::{KeyView, NewKeyRequest};
use jobbers_common::{
    access::{AccessRole, Pattern, Scope},
    name::KeyId,
    values::duration,
};
use jobbers_manager::KeyText;
use jobbers_process::exit;

use self::backend::{Issued, KeyBackend, StoreArgs};
use crate::{failure::Failure, terminal::output};

mod backend;
mod show;

const AFTER_HELP: &str = "\
From the first key on, managers of the store answer only clients that send one; changes are followed within a second. \
A role is a set of scopes: viewer, submitter, worker, operator, admin. Workers and cleaners that use the store's address \
need no key. Without --manager the store is written to, by its address.

Exit codes: 0 done; 1 refused, or the key does not exist; 64 the address makes no sense; 69 the store can't be reached.";

/// Flags of `jobbers keys`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create a key, and print it: it is not shown again
    Create(Create),
    /// List the keys
    List(StoreArgs),
    /// Show one key, without its secrets
    Show(OneKey),
    /// Print a new secret of a key; earlier ones stay valid for a while
    Rotate(Rotate),
    /// Revoke a key: it signs no client in any more
    Revoke(Revoke),
    /// Delete a key that was revoked or has expired
    Delete(Delete),
    /// Print the text of a new key, and store nothing: for JOBBERS_BOOTSTRAP_KEY_FILE
    Make,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What the key is for, such as the name of the program that uses it
    name: String,
    /// What it may do
    #[arg(long, value_parser = AccessRole::ALL.map(AccessRole::as_str), required_unless_present = "scopes")]
    role: Option<String>,
    /// Further scopes, such as tasks:submit,queues:read
    #[arg(long, value_delimiter = ',', value_parser = scope_names())]
    scopes: Vec<String>,
    /// Restrict it to this queue, or to queues that begin so: team-a.*; may be repeated
    #[arg(long = "queue", value_name = "PATTERN")]
    queues: Vec<Pattern>,
    /// Restrict it to tasks of this name, or of names that begin so: mail.*; may be repeated
    #[arg(long = "task", value_name = "PATTERN")]
    tasks: Vec<Pattern>,
    /// Restrict it to this board, such as masstasker or taskstore; may be repeated
    #[arg(long = "board", value_name = "PATTERN")]
    boards: Vec<Pattern>,
    /// Let it expire after this time, such as 90d
    #[arg(long, value_parser = duration::parse, value_name = "DURATION")]
    expires: Option<Duration>,
    /// Who creates it
    #[arg(long, env = "USER", default_value = "unknown", hide_env_values = true)]
    by: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct OneKey {
    /// The key's id: the part of a key between jb_ and the second _
    id: KeyId,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Rotate {
    #[command(flatten)]
    one: OneKey,
    /// For how long earlier secrets stay valid
    #[arg(long, default_value = "24h", value_parser = duration::parse, value_name = "DURATION")]
    keep: Duration,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    #[command(flatten)]
    one: OneKey,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct Delete {
    #[command(flatten)]
    one: OneKey,
    /// Even if it is the last key, so that managers then answer every client
    #[arg(long)]
    open: bool,
}

fn scope_names() -> Vec<&'static str> {
    Scope::all().map(Scope::as_str).collect()
}

/// Lists the keys, or does what is asked with one.
///
/// # Errors
/// When the store or the manager can't be asked, or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => list(&args.store).await?,
        Some(Action::List(store)) => list(store).await?,
        Some(Action::Create(create)) => new_key(create).await?,
        Some(Action::Show(one)) => show_one(one).await?,
        Some(Action::Rotate(rotate)) => new_secret(rotate).await?,
        Some(Action::Revoke(revoke)) => return revoke_key(revoke).await,
        Some(Action::Delete(delete)) => remove(delete).await?,
        Some(Action::Make) => output::line(KeyText::generate().as_str())?,
    }
    Ok(exit::OK)
}

/// Prints a new text of a key: the only time that it is shown.
fn print(issued: &Issued, backend: &KeyBackend, json: bool) -> Result<(), Failure> {
    let about = &issued.view.about;
    output::note(format_args!(
        "this is key {} ({}) of {}; it is not shown again. Use it so:\n  export JOBBERS_KEY=KEY\n  \
         curl -H \"Authorization: Bearer $JOBBERS_KEY\" {}/queues",
        about.id,
        about.name,
        backend.name(),
        backend.manager(),
    ));
    if json { show::document(&issued.view) } else { output::line(&issued.view.key) }
}

async fn new_key(args: &Create) -> Result<(), Failure> {
    // The first key may be created before the first manager has started.
    let backend = args.store.open_or_create().await?;
    let request = NewKeyRequest {
        name: args.name.clone(),
        role: args.role.clone(),
        scopes: args.scopes.clone(),
        queues: args.queues.clone(),
        tasks: args.tasks.clone(),
        boards: args.boards.clone(),
        expires_in: args.expires,
    };
    let issued = backend.create(request, &args.by).await?;
    if issued.is_first {
        output::note(
            "this is the first key: from now on, the managers of this store answer only clients that send a key",
        );
    }
    print(&issued, &backend, args.store.json)
}

async fn list(args: &StoreArgs) -> Result<(), Failure> {
    let views = args.open().await?.list().await?;
    if args.json {
        return show::document(&serde_json::json!({"keys": views}));
    }
    if views.is_empty() {
        output::note("the store has no key: its managers answer every client; `jobbers keys create` makes the first");
    }
    output::table(&show::table(&views))
}

async fn show_one(args: &OneKey) -> Result<(), Failure> {
    let view = args.store.open().await?.get(&args.id).await?;
    if args.store.json { show::document(&view) } else { output::table(&show::sheet(&view)) }
}

async fn new_secret(Rotate { one, keep }: &Rotate) -> Result<(), Failure> {
    let backend = one.store.open().await?;
    print(&backend.rotate(&one.id, *keep).await?, &backend, one.store.json)
}

async fn revoke_key(Revoke { one, yes }: &Revoke) -> Result<ExitCode, Failure> {
    let backend = one.store.open().await?;
    let KeyView { id, name, .. } = backend.get(&one.id).await?;
    if !yes && !output::confirm(&format!("Revoke key {id} ({name})?"))? {
        return Ok(exit::FAILURE.into());
    }
    let view = backend.revoke(&id).await?;
    show::changed(&view, one.store.json, format_args!("key {id} revoked"))?;
    Ok(exit::OK)
}

async fn remove(Delete { one, open }: &Delete) -> Result<(), Failure> {
    let view = one.store.open().await?.delete(&one.id, *open).await?;
    show::changed(&view, one.store.json, format_args!("key {} deleted", view.id))
}
