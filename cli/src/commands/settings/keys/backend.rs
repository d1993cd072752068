//! Where keys are read and changed: in the store, or at a manager.

use std::{env, path::PathBuf, sync::Arc, time::Duration};

use jobbers_api::{
    access::key::{IssuedKeyView, KeyListView, KeyView, NewKeyRequest, RotateKeyRequest},
    client::path,
};
use jobbers_common::{
    access::AccessKey,
    audit_log::{ChangeOutcome, ChangeResult},
    engine::{Engine, Error, PutMode},
    name::KeyId,
    queue::Config,
    time::Timestamp,
};
use jobbers_engines::{DEFAULT_URL, OpenOptions};
use jobbers_manager::{CommandChange, keys};
use jobbers_process::engine_url::{EngineArgs, WaitArgs, without_password};

use crate::{
    client::{self, DEFAULT_URL as DEFAULT_MANAGER, ManagerArgs, ManagerClient},
    failure::Failure,
    scratch::cant_open,
    terminal::output,
};

/// How often a change is tried again because another came between.
const ATTEMPTS: usize = 10;

/// Which store, and how to print the answer.
#[derive(Debug, clap::Args)]
pub(super) struct StoreArgs {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    wait: WaitArgs,
    /// Ask the manager at this address, signed in with a key that has the scopes keys:read and keys:write, and not the store
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
    /// A file with that key, in place of the variables JOBBERS_KEY and JOBBERS_KEY_FILE
    #[arg(long, value_name = "FILE", requires = "manager")]
    key_file: Option<PathBuf>,
    /// Ask the manager of this profile of ~/.config/jobbers/profiles.toml
    #[arg(long, value_name = "NAME", conflicts_with = "manager")]
    profile: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Where keys are.
pub(super) enum KeyBackend {
    Store(OpenStore),
    Manager { client: ManagerClient, url: String },
}

/// A key, and its new text.
pub(super) struct Issued {
    pub(super) view: IssuedKeyView,
    /// Whether the store had no key before.
    pub(super) is_first: bool,
}

/// A store, and its address, as it may be shown.
pub(super) struct OpenStore {
    engine: Arc<dyn Engine>,
    address: String,
}

impl StoreArgs {
    /// Opens the store, which must exist, or reaches the manager.
    pub(super) async fn open(&self) -> Result<KeyBackend, Failure> {
        self.open_with(OpenOptions::existing()).await
    }

    /// The same, and creates the store if it is new.
    pub(super) async fn open_or_create(&self) -> Result<KeyBackend, Failure> {
        self.open_with(OpenOptions::default()).await
    }

    async fn open_with(&self, options: OpenOptions) -> Result<KeyBackend, Failure> {
        let given = ManagerArgs::given(self.manager.as_ref(), self.key_file.as_ref(), self.profile.as_ref());
        if let Some(manager) = given {
            if self.engine.is_flag() {
                return Err(Failure::Usage(
                    "--engine-url names the store: leave out --manager and --profile".to_owned(),
                ));
            }
            let (client, url) = manager.client_at()?;
            return Ok(KeyBackend::Manager { client, url });
        }
        let url = self.engine.given_or_found().unwrap_or_else(|| DEFAULT_URL.to_owned());
        let options = OpenOptions { wait: self.wait.wait_for_store.unwrap_or_default(), ..options };
        let engine = jobbers_engines::open(&url, options).await.map_err(|error| cant_open(&url, &error))?;
        Ok(KeyBackend::Store(OpenStore { engine, address: without_password(&url) }))
    }
}

impl KeyBackend {
    /// The store or the manager, as it may be shown.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Store(store) => &store.address,
            Self::Manager { url, .. } => url,
        }
    }

    /// A manager of the store.
    pub(super) fn manager(&self) -> &str {
        match self {
            Self::Store(_) => DEFAULT_MANAGER,
            Self::Manager { url, .. } => url.trim_end_matches('/'),
        }
    }

    pub(super) async fn list(&self) -> Result<Vec<KeyView>, Failure> {
        match self {
            Self::Store(store) => store.list().await,
            Self::Manager { client, .. } => Ok(client.get("/keys", client::NOTHING).await?.read::<KeyListView>()?.keys),
        }
    }

    pub(super) async fn get(&self, id: &KeyId) -> Result<KeyView, Failure> {
        match self {
            Self::Store(store) => {
                let (key, now) = store.find(id).await?;
                Ok(KeyView::of(&key, now))
            }
            Self::Manager { client, .. } => Ok(client.get(&of(id, ""), client::NOTHING).await?.read()?),
        }
    }

    pub(super) async fn create(&self, request: NewKeyRequest, by: &str) -> Result<Issued, Failure> {
        match self {
            Self::Store(store) => store.create(request, by).await,
            Self::Manager { client, .. } => {
                Ok(Issued { view: client.post("/keys", Some(&request)).await?.read()?, is_first: false })
            }
        }
    }

    pub(super) async fn rotate(&self, id: &KeyId, keep: Duration) -> Result<Issued, Failure> {
        match self {
            Self::Store(store) => store.rotate(id, keep).await,
            Self::Manager { client, .. } => {
                let request = RotateKeyRequest { keep: Some(keep) };
                Ok(Issued { view: client.post(&of(id, "/rotate"), Some(&request)).await?.read()?, is_first: false })
            }
        }
    }

    pub(super) async fn revoke(&self, id: &KeyId) -> Result<KeyView, Failure> {
        match self {
            Self::Store(store) => store.revoke(id).await,
            Self::Manager { client, .. } => Ok(client.post(&of(id, "/revoke"), client::NOTHING).await?.read()?),
        }
    }

    /// Deletes a key, the last one only with `open`. Returns it as it was.
    pub(super) async fn delete(&self, id: &KeyId, open: bool) -> Result<KeyView, Failure> {
        match self {
            Self::Store(store) => store.delete(id, open).await,
            Self::Manager { client, .. } => {
                let view = self.get(id).await?;
                client.delete(&of(id, "")).await?;
                Ok(view)
            }
        }
    }
}

/// The path of a key in the API, or of what is asked of it: `/rotate`.
fn of(id: &KeyId, verb: &str) -> String {
    path(["keys", id.as_str()]) + verb
}

/// A refusal of the store; an outage differs.
fn refused(error: &Error) -> Failure {
    if error.is_transient() { Failure::Unavailable(error.to_string()) } else { Failure::Negative(error.to_string()) }
}

impl OpenStore {
    /// The configuration, and the time of the store.
    async fn look(&self) -> Result<(Arc<Config>, Timestamp), Failure> {
        let now = self.engine.health().await.map_err(|error| refused(&error))?.now;
        Ok((self.engine.config().await.map_err(|error| refused(&error))?, now))
    }

    async fn list(&self) -> Result<Vec<KeyView>, Failure> {
        let (config, now) = self.look().await?;
        Ok(config.keys.values().map(|key| KeyView::of(key, now)).collect())
    }

    async fn find(&self, id: &KeyId) -> Result<(AccessKey, Timestamp), Failure> {
        let (config, now) = self.look().await?;
        let key = config.keys.get(id).ok_or_else(|| refused(&Error::UnknownKey(id.clone())))?;
        Ok((AccessKey::clone(key), now))
    }

    async fn create(&self, request: NewKeyRequest, by: &str) -> Result<Issued, Failure> {
        let (config, now) = self.look().await?;
        let (text, key) = keys::issued(request, by, now);
        let change = self.begin("create_key", &key.id).await?;
        let put = self.engine.put_key(key.clone(), PutMode::Create).await.map(drop);
        self.end(change, (None, Some(&key)), put, now).await?;
        let view = IssuedKeyView { key: text.as_str().to_owned(), about: KeyView::of(&key, now) };
        Ok(Issued { view, is_first: config.keys.is_empty() })
    }

    async fn rotate(&self, id: &KeyId, keep: Duration) -> Result<Issued, Failure> {
        let (text, key, now) = self.alter("rotate_key", id, |stored, now| keys::rotated(stored, keep, now)).await?;
        let view = IssuedKeyView { key: text.as_str().to_owned(), about: KeyView::of(&key, now) };
        Ok(Issued { view, is_first: false })
    }

    async fn revoke(&self, id: &KeyId) -> Result<KeyView, Failure> {
        let revoke = |stored: &AccessKey, now| Ok(((), keys::revoked(stored, now)));
        let ((), key, now) = self.alter("revoke_key", id, revoke).await?;
        Ok(KeyView::of(&key, now))
    }

    async fn delete(&self, id: &KeyId, open: bool) -> Result<KeyView, Failure> {
        let (config, now) = self.look().await?;
        let key = config.keys.get(id).ok_or_else(|| refused(&Error::UnknownKey(id.clone())))?;
        keys::check_deletable(key, now).map_err(|refusal| Failure::Negative(refusal.to_string()))?;
        if config.keys.len() == 1 && !open {
            let why = "it is the last key, and without one the managers of this store answer every client; say --open";
            return Err(Failure::Negative(why.to_owned()));
        }
        let change = self.begin("delete_key", id).await?;
        let deleted = self.engine.delete_key(id).await.map(drop);
        self.end(change, (Some(key), None), deleted, now).await?;
        Ok(KeyView::of(key, now))
    }

    /// Changes a key. Another change may come between, such as a manager that notes its use: then this one begins again.
    async fn alter<T>(
        &self,
        operation: &str,
        id: &KeyId,
        alter: impl Fn(&AccessKey, Timestamp) -> Result<(T, AccessKey), keys::KeyRefusal>,
    ) -> Result<(T, AccessKey, Timestamp), Failure> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (stored, now) = self.find(id).await?;
            let (told, key) = alter(&stored, now).map_err(|refusal| Failure::Negative(refusal.to_string()))?;
            let change = self.begin(operation, id).await?;
            let put = self.engine.put_key(key.clone(), PutMode::Unchanged(stored.clone())).await.map(drop);
            let is_behind = matches!(put, Err(Error::Changed(_)));
            match self.end(change, (Some(&stored), Some(&key)), put, now).await {
                Err(_) if is_behind && attempts < ATTEMPTS => {}
                done => return done.map(|()| (told, key, now)),
            }
        }
    }

    async fn begin(&self, operation: &str, id: &KeyId) -> Result<CommandChange<'_>, Failure> {
        let by = env::var("USER").unwrap_or_else(|_| "unknown".to_owned());
        let begun = CommandChange::begin(&*self.engine, &by, operation, Some(id.as_str())).await;
        begun.map_err(|error| refused(&error))
    }

    /// Logs the outcome of a change: the key before it, and the one after it. A new key is printed even if its outcome can't
    /// be logged, because it is not shown again.
    async fn end(
        &self,
        change: CommandChange<'_>,
        (before, after): (Option<&AccessKey>, Option<&AccessKey>),
        done: Result<(), Error>,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let view = |key| serde_json::to_value(KeyView::of(key, now)).ok();
        let (before, after) = (before.and_then(view), after.and_then(view));
        let outcome = ChangeOutcome { before, after, ..ChangeOutcome::of(ChangeResult::Done) };
        if let Err(error) = change.end(done.as_ref().map(|()| outcome)).await {
            output::note(format_args!("the outcome can't be logged for the audit log: {error}"));
        }
        done.map_err(|error| refused(&error))
    }
}
