//! What the tasks share: a folder, in place of the database and of the services that a real shop calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use jobbers_worker::prelude::*;
use parking_lot::Mutex;

/// The services. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Services(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// How long a call takes.
    latency: Duration,
    /// The customers to whom this process is sending a mail.
    connected: Mutex<BTreeSet<String>>,
}

impl Services {
    /// The services in this folder.
    pub(crate) fn at(folder: impl Into<PathBuf>, latency: Duration) -> io::Result<Self> {
        let folder = folder.into();
        for part in ["charges", "stock", "pictures"] {
            fs::create_dir_all(folder.join(part))?;
        }
        Ok(Self(Arc::new(Shared { folder, latency, connected: Mutex::default() })))
    }

    /// The file of this name.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.folder.join(name)
    }

    /// Takes as long as a call of a service.
    pub(crate) async fn call(&self) {
        tokio::time::sleep(self.0.latency).await;
    }

    /// Notes an effect outside the shop, in a line of the journal that no other line mixes with: what, for which task, in which
    /// attempt, under which fence, by which process, and when.
    pub(crate) fn note(&self, ctx: &Context, effect: &str) -> io::Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_micros());
        let (id, attempt, fence, process) = (ctx.id(), ctx.attempt(), ctx.fence(), std::process::id());
        let line = format!("{effect} {id} {attempt} {fence} {process} {now}\n");
        let mut journal = fs::OpenOptions::new().create(true).append(true).open(self.file("journal"))?;
        journal.write_all(line.as_bytes())
    }

    /// How often each effect is in the journal.
    pub(crate) fn effects(&self) -> io::Result<BTreeMap<String, u64>> {
        let mut effects = BTreeMap::new();
        for line in fs::read_to_string(self.file("journal"))?.lines() {
            let effect = line.split(' ').next().unwrap_or_default();
            *effects.entry(effect.to_owned()).or_default() += 1;
        }
        Ok(effects)
    }

    /// Writes a file as a whole or not at all, however often and by how many attempts at once.
    pub(crate) fn write(&self, ctx: &Context, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
        let file = self.file(name);
        let partial = file.with_extension(format!("{}.partial", ctx.fence()));
        fs::write(&partial, content)?;
        fs::rename(&partial, &file)
    }

    /// Connects to the mail server, which takes one connection for each customer.
    pub(crate) fn connect(&self, customer: &str) -> Result<Connection<'_>, String> {
        if !self.0.connected.lock().insert(customer.to_owned()) {
            return Err(format!("the mail server has a connection for {customer}"));
        }
        Ok(Connection { services: self, customer: customer.to_owned() })
    }
}

/// A connection to the mail server.
pub(crate) struct Connection<'a> {
    services: &'a Services,
    customer: String,
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.services.0.connected.lock().remove(&self.customer);
    }
}
