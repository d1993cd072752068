//! `jobbers keys`: what clients of managers sign in with. It uses the store's address, because the first key can't be asked
//! for with a key, and any program that can write the store owns it anyway.

use std::{env, process::ExitCode, sync::Arc, time::Duration};

use jobbers_common::{
    access::{AccessKey, AccessRole, MAX_SECRETS, Pattern, Scope, StoredSecret},
    audit_log::{ChangeOutcome, ChangeResult},
    duration,
    engine::{Engine, Error, PutMode},
    name::KeyId,
    queue::Config,
    time::Timestamp,
};
use jobbers_engines::{DEFAULT_URL, OpenOptions};
use jobbers_manager::{CommandChange, KeyText};
use jobbers_process::{
    engine_url::{EngineArgs, without_password},
    exit,
};

use self::show::KeyView;
use crate::{failure::Failure, output, scratch::cant_open};

mod show;

const AFTER_HELP: &str = "\
From the first key on, managers of the store answer only clients that send one; changes are followed within a second. \
A role is a set of scopes: viewer, submitter, worker, operator, admin. Workers and cleaners that use the store's address \
need no key.

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

/// Which store, and how to print the answer.
#[derive(Debug, clap::Args)]
struct StoreArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create a key, and print it: it is not shown again
    Create(Create),
    /// List the keys
    List(StoreArgs),
    /// Show one key, without its secrets
    Show(One),
    /// Print a new secret of a key; earlier ones stay valid for a while
    Rotate(Rotate),
    /// Revoke a key: it signs no client in any more
    Revoke(Revoke),
    /// Delete a key that was revoked or has expired
    Delete(Delete),
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
struct One {
    /// The key's id: the part of a key between jb_ and the second _
    id: KeyId,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct Rotate {
    #[command(flatten)]
    one: One,
    /// For how long earlier secrets stay valid
    #[arg(long, default_value = "24h", value_parser = duration::parse, value_name = "DURATION")]
    keep: Duration,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    #[command(flatten)]
    one: One,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct Delete {
    #[command(flatten)]
    one: One,
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
/// When the store can't be opened or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        None => list(&args.store).await?,
        Some(Action::List(store)) => list(store).await?,
        Some(Action::Create(create)) => new_key(create).await?,
        Some(Action::Show(one)) => show_one(one).await?,
        Some(Action::Rotate(rotate)) => new_secret(rotate).await?,
        Some(Action::Revoke(revoke)) => return revoke_key(revoke).await,
        Some(Action::Delete(delete)) => remove(delete).await?,
    }
    Ok(exit::OK)
}

/// A store, its keys, and the time there.
struct Keys {
    engine: Arc<dyn Engine>,
    config: Arc<Config>,
    now: Timestamp,
    /// Its address, as it may be shown.
    store: String,
}

impl StoreArgs {
    async fn open(&self, options: OpenOptions) -> Result<Keys, Failure> {
        let url = self.engine.given_or_found().unwrap_or_else(|| DEFAULT_URL.to_owned());
        let engine = jobbers_engines::open(&url, options).await.map_err(|error| cant_open(&url, &error))?;
        let now = engine.health().await.map_err(|error| cant_open(&url, &error))?.now;
        let config = engine.config().await.map_err(|error| cant_open(&url, &error))?;
        Ok(Keys { engine, config, now, store: without_password(&url) })
    }
}

impl Keys {
    fn find(&self, id: &KeyId) -> Result<AccessKey, Failure> {
        let known = self.config.keys.get(id).map(|key| AccessKey::clone(key));
        known.ok_or_else(|| refused(&Error::UnknownKey(id.clone())))
    }

    /// Stores a key, and logs the change.
    async fn put(&self, operation: &str, key: &AccessKey, mode: PutMode<AccessKey>) -> Result<(), Failure> {
        let change = self.begin(operation, key).await?;
        let put = self.engine.put_key(key.clone(), mode).await.map(drop);
        let before = self.config.keys.get(&key.id).map(|key| &**key);
        self.end(change, (before, Some(key)), put).await
    }

    async fn begin(&self, operation: &str, key: &AccessKey) -> Result<CommandChange<'_>, Failure> {
        let by = env::var("USER").unwrap_or_else(|_| "unknown".to_owned());
        let begun = CommandChange::begin(&*self.engine, &by, operation, Some(key.id.as_str())).await;
        begun.map_err(|error| refused(&error))
    }

    /// Logs the outcome of a change: the key before it, and the one after it. A new key is printed even if its outcome can't
    /// be logged, because it is not shown again.
    async fn end(
        &self,
        change: CommandChange<'_>,
        (before, after): (Option<&AccessKey>, Option<&AccessKey>),
        done: Result<(), Error>,
    ) -> Result<(), Failure> {
        let view = |key| serde_json::to_value(KeyView::of(key, self.now)).ok();
        let (before, after) = (before.and_then(view), after.and_then(view));
        let outcome = ChangeOutcome { before, after, ..ChangeOutcome::of(ChangeResult::Done) };
        if let Err(error) = change.end(done.as_ref().map(|()| outcome)).await {
            output::note(format_args!("the outcome can't be logged for the audit log: {error}"));
        }
        done.map_err(|error| refused(&error))
    }

    /// Prints a new text of a key: the only time that it is shown.
    fn print(&self, key: &AccessKey, text: &KeyText, json: bool) -> Result<(), Failure> {
        output::note(format_args!(
            "this is key {} ({}) of {}; it is not shown again. Use it so:\n  export JOBBERS_KEY=KEY\n  \
             curl -H \"Authorization: Bearer $JOBBERS_KEY\" http://127.0.0.1:8000/queues",
            key.id, key.name, self.store
        ));
        if json {
            let view = KeyView::of(key, self.now);
            return show::document(&serde_json::json!({"key": text.as_str(), "about": view}));
        }
        output::line(text.as_str())
    }
}

/// A refusal of the store; an outage differs.
fn refused(error: &Error) -> Failure {
    if error.is_transient() { Failure::Unavailable(error.to_string()) } else { Failure::Negative(error.to_string()) }
}

async fn new_key(args: &Create) -> Result<(), Failure> {
    // The first key may be created before the first manager has started.
    let keys = args.store.open(OpenOptions::default()).await?;
    let text = KeyText::generate();
    let key = AccessKey {
        id: text.id().clone(),
        name: args.name.clone(),
        role: args.role.clone(),
        scopes: args.scopes.clone(),
        queues: args.queues.clone(),
        tasks: args.tasks.clone(),
        secrets: vec![StoredSecret { digest: text.digest(), created_at: keys.now, expires_at: None }],
        created_at: keys.now,
        created_by: args.by.clone(),
        expires_at: args.expires.map(|expires| keys.now.after(expires)),
        revoked_at: None,
    };
    keys.put("create_key", &key, PutMode::Create).await?;
    if keys.config.keys.is_empty() {
        output::note(
            "this is the first key: from now on, the managers of this store answer only clients that send a key",
        );
    }
    keys.print(&key, &text, args.store.json)
}

async fn list(args: &StoreArgs) -> Result<(), Failure> {
    let keys = args.open(OpenOptions::existing()).await?;
    let views: Vec<KeyView> = keys.config.keys.values().map(|key| KeyView::of(key, keys.now)).collect();
    if args.json {
        return show::document(&serde_json::json!({"keys": views}));
    }
    if views.is_empty() {
        output::note("the store has no key: its managers answer every client; `jobbers keys create` makes the first");
    }
    output::table(&show::table(&views))
}

async fn show_one(args: &One) -> Result<(), Failure> {
    let keys = args.store.open(OpenOptions::existing()).await?;
    let key = keys.find(&args.id)?;
    let view = KeyView::of(&key, keys.now);
    if args.store.json { show::document(&view) } else { output::table(&show::sheet(&view)) }
}

async fn new_secret(Rotate { one, keep }: &Rotate) -> Result<(), Failure> {
    let keys = one.store.open(OpenOptions::existing()).await?;
    let stored = keys.find(&one.id)?;
    let (text, key) = rotated(&stored, *keep, keys.now)?;
    keys.put("rotate_key", &key, PutMode::Unchanged(stored)).await?;
    keys.print(&key, &text, one.store.json)
}

/// A key with a new secret, and its text. Its other secrets end after `keep`, unless they end before.
fn rotated(stored: &AccessKey, keep: Duration, now: Timestamp) -> Result<(KeyText, AccessKey), Failure> {
    let mut kept: Vec<StoredSecret> = stored.valid_secrets(now).cloned().collect();
    if kept.is_empty() && (stored.revoked_at.is_some() || stored.expires_at.is_some_and(|end| end <= now)) {
        let reason = if stored.revoked_at.is_some() { "was revoked" } else { "has expired" };
        return Err(Failure::Negative(format!("key {} {reason}: create another one", stored.id)));
    }
    let end = now.after(keep);
    kept.retain(|_| !keep.is_zero());
    if kept.len() >= MAX_SECRETS {
        let why = format!("key {} has {MAX_SECRETS} valid secrets; end the earlier ones with --keep 0", stored.id);
        return Err(Failure::Negative(why));
    }
    for secret in &mut kept {
        secret.expires_at = Some(secret.expires_at.map_or(end, |earlier| earlier.min(end)));
    }
    let text = KeyText::for_id(&stored.id);
    let newest = StoredSecret { digest: text.digest(), created_at: now, expires_at: None };
    let secrets = std::iter::once(newest).chain(kept).collect();
    Ok((text, AccessKey { secrets, ..stored.clone() }))
}

async fn revoke_key(Revoke { one, yes }: &Revoke) -> Result<ExitCode, Failure> {
    let keys = one.store.open(OpenOptions::existing()).await?;
    let stored = keys.find(&one.id)?;
    if !yes && !output::confirm(&format!("Revoke key {} ({})?", stored.id, stored.name))? {
        return Ok(exit::FAILURE.into());
    }
    let revoked_at = stored.revoked_at.or(Some(keys.now));
    let key = AccessKey { revoked_at, secrets: Vec::new(), ..stored.clone() };
    keys.put("revoke_key", &key, PutMode::Unchanged(stored)).await?;
    show::changed(&key, keys.now, one.store.json, format_args!("key {} revoked", key.id))?;
    Ok(exit::OK)
}

async fn remove(Delete { one, open }: &Delete) -> Result<(), Failure> {
    let keys = one.store.open(OpenOptions::existing()).await?;
    let key = keys.find(&one.id)?;
    if key.valid_secrets(keys.now).next().is_some() {
        return Err(Failure::Negative(format!("key {} is in use: revoke it first", key.id)));
    }
    if keys.config.keys.len() == 1 && !open {
        let why = "it is the last key, and without one the managers of this store answer every client; say --open";
        return Err(Failure::Negative(why.to_owned()));
    }
    let change = keys.begin("delete_key", &key).await?;
    let deleted = keys.engine.delete_key(&key.id).await.map(drop);
    keys.end(change, (Some(&key), None), deleted).await?;
    show::changed(&key, keys.now, one.store.json, format_args!("key {} deleted", key.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_keeps_earlier_secrets_for_a_while_and_never_longer_than_before() {
        let (now, hour) = (Timestamp::from_micros(1_000_000_000), Duration::from_hours(1));
        let text = KeyText::generate();
        let stored = AccessKey {
            id: text.id().clone(),
            name: "tests".to_owned(),
            role: Some("viewer".to_owned()),
            scopes: vec![],
            queues: vec![],
            tasks: vec![],
            secrets: vec![StoredSecret { digest: text.digest(), created_at: now, expires_at: None }],
            created_at: now,
            created_by: "tests".to_owned(),
            expires_at: None,
            revoked_at: None,
        };
        let ends = |key: &AccessKey| key.secrets.iter().map(|secret| secret.expires_at).collect::<Vec<_>>();
        let (second, once) = rotated(&stored, hour, now).unwrap();
        assert_eq!(ends(&once), [None, Some(now.after(hour))]);
        assert_eq!(once.secrets[0].digest, second.digest());
        let (_, twice) = rotated(&once, 2 * hour, now).unwrap();
        assert_eq!(ends(&twice), [None, Some(now.after(2 * hour)), Some(now.after(hour))]);
        let (_, thrice) = rotated(&twice, hour, now).unwrap();
        assert!(rotated(&thrice, hour, now).is_err(), "four are valid");
        assert_eq!(rotated(&thrice, Duration::ZERO, now).unwrap().1.secrets.len(), 1);
        assert_eq!(rotated(&thrice, hour, now.after(hour)).unwrap().1.secrets.len(), 2);
        assert!(rotated(&AccessKey { revoked_at: Some(now), ..stored }, hour, now).is_err());
    }
}
