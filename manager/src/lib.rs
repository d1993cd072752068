//! The manager: Jobbers' HTTP front.
//!
//! It accepts tasks and routes them to queues, tells how they stand, cancels them, keeps what failed for good, and keeps
//! queues, roles and routing.
//! It reads and writes the JSON of the API ([`jobbers_api`]); the store sees tasks, never requests. Beside its requests it ticks:
//! it promotes due tasks, takes expired leases back and prunes, for queues where no worker does so on its way; it fires
//! schedules ([`ticks::schedules`]), moves workflows on ([`ticks::workflows`]) and serves groups of boards ([`bridge`]).
//!
//! It holds no state that matters but the archive of dead letters ([`dead_letters`]), which one manager keeps at a time:
//! any number of managers run side by side on one store, and none is needed alive. It runs no tasks.
//!
//! Start reading at [`run`], then [`api`], then `api/tasks/submit.rs`, the path that must be fast.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::future::BoxFuture;
#[cfg(feature = "boards")]
use jobbers_boards::masstasker;
use jobbers_boards::taskstore;
use jobbers_common::engine::Engine;
use jobbers_process::{listen::Endpoint, server::Listener, shutdown::Shutdown, telemetry::SCOPE};
use tokio::task::JoinSet;

mod api;
mod app;
mod audit;
mod background;
mod bridge;
pub mod config;
mod credentials;
mod dead_letters;
mod doors;
mod front;
mod handlers;
pub mod keys;
mod leases;
mod listening;
mod pages;
pub mod program;
mod snapshots;
mod submissions;
mod telemetry;
mod ticks;

pub use audit::command::CommandChange;
pub use config::{Config, bridges};
pub use credentials::key_text::{KeyText, KeyTextError};
pub use dead_letters::holding::DUTY as DEAD_LETTERS_DUTY;
pub use listening::listeners::{ListenError, Listeners};
pub use snapshots::known_tasks::unchecked_parts;

use crate::{app::App, doors::Doors, listening::server::Routes};

/// How often the workers are read again: what they can run is known within this time.
const KNOWN_TASKS_REFRESH: Duration = Duration::from_millis(800);

/// How long the start waits for the store's answer to whether it has access keys.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

/// How often what workers over HTTP hold is reported again.
const LEASES_REPORTED: Duration = Duration::from_millis(800);

/// The description of the HTTP API, as `GET /openapi.json` answers it.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    api::routes().into_openapi()
}

/// Serves HTTP on `listeners` until `shutdown`, and returns when the last request is answered or cut off.
///
/// `shutdown.leaving` ends only its readiness; `shutdown.drain` stops accepting, answers waiting long polls, and lets requests under way finish, for at most
/// [`Config::drain_timeout`]; `shutdown.now` cuts them at once. The caller has checked the address
/// ([`Config::check_addresses`]).
///
/// Boxed, so that it is compiled with this crate and not again with each program that starts it.
pub fn run(
    config: Config,
    engine: Arc<dyn Engine>,
    listeners: impl Into<Listeners>,
    shutdown: Shutdown,
) -> BoxFuture<'static, ()> {
    boxed(config, engine, listeners.into(), shutdown)
}

#[inline(never)]
fn boxed(config: Config, engine: Arc<dyn Engine>, listeners: Listeners, shutdown: Shutdown) -> BoxFuture<'static, ()> {
    Box::pin(serve(config, engine, listeners, shutdown))
}

async fn serve(config: Config, engine: Arc<dyn Engine>, listeners: Listeners, shutdown: Shutdown) {
    let (exposures, identities) = (listeners.exposures(&config), listeners.identities());
    let Listeners { http, taskstore, masstasker } = listeners;
    let address = http.local_addr().unwrap_or(config.listen);
    tracing::info!(%address, "listening");
    let app = Arc::new(App { exposures, identities, ..App::new(&config, engine, config.url(address), &shutdown) });
    // Whether the store has keys; one that can't be asked now is taken to have none.
    tokio::time::timeout(STORE_PATIENCE, app.live.current()).await.ok();
    for warning in app.listener_warnings() {
        tracing::warn!("{warning}");
    }
    let observed: Weak<App> = Arc::downgrade(&app);
    let observed: Weak<dyn telemetry::gauges::Observed> = observed;
    telemetry::gauges::observe(&observed, &opentelemetry::global::meter(SCOPE));
    dead_letters::gauges::observe(&app.dead_letters, &opentelemetry::global::meter(SCOPE));
    let guard = listening::guard::Guard::new(&config, &address.into());
    let mut background = JoinSet::new();
    background.spawn(ticks::chores::run(Arc::clone(&app), config.tick));
    background.spawn(ticks::schedules::run(Arc::clone(&app), config.tick));
    background.spawn(ticks::workflows::run(Arc::clone(&app), config.tick));
    background.spawn(keep_fresh(Arc::clone(&app), config.config_refresh));
    let keeping = tokio::spawn(dead_letters::keeper::run(app.clone(), config.tick));
    let bridging = tokio::spawn(bridge::run(Arc::clone(&app), config.bridges.clone()));
    let native = listening::server::serve(
        http,
        Routes::versioned(front::router::router(Arc::clone(&app), guard)),
        &config,
        &app.memory,
        &shutdown,
    );
    tokio::join!(
        native,
        serve_taskstore(taskstore, &app, &config, &shutdown),
        serve_masstasker(masstasker, &app, &config, &shutdown),
    );
    app.leases.finish(config.drain_timeout).await;
    // Both stop with `drain` and are safe to interrupt; a store that hangs must not hold the stop up.
    background.shutdown().await;
    // Both stop with `drain` too, and give back what they hold, so that another manager need not wait for a lease to end.
    tokio::time::timeout(config.drain_timeout, futures_util::future::join(keeping, bridging)).await.ok();
    tracing::info!("stopped");
}

/// Keeps what this manager knows of the store fresh, and the workers that call it registered, until it stops.
async fn keep_fresh(app: Arc<App>, config_refresh: Duration) {
    let reporting = background::ticker::every(&app.drain, LEASES_REPORTED, || async {
        app.leases.workers.register_due(app.live.snapshot().as_deref()).await;
    });
    tokio::join!(
        app.live.keep_fresh(&app.drain, config_refresh),
        app.known.keep_fresh(&app.drain, KNOWN_TASKS_REFRESH),
        reporting,
    );
}

/// Answers TaskStore's clients on a port of their own, if they have one.
async fn serve_taskstore(listener: Option<Listener>, app: &Arc<App>, config: &Config, shutdown: &Shutdown) {
    let Some(listener) = listener else { return };
    let address = listener.endpoint().unwrap_or(Endpoint::Tcp(config.listen));
    tracing::info!(%address, unit = %config.taskstore_unit, "TaskStore's clients are answered");
    let guard = listening::guard::Guard::new(config, &address);
    let doors = Doors::of_front(taskstore::BOARD, config.taskstore_door(address).asks_for_keys);
    let routes = Routes::plain(front::router::taskstore(app, guard, doors, config.taskstore_unit));
    listening::server::serve(listener, routes, config, &app.memory, shutdown).await;
}

/// Answers MassTasker's clients, if they have a port.
#[cfg(feature = "boards")]
async fn serve_masstasker(listener: Option<Listener>, app: &Arc<App>, config: &Config, shutdown: &Shutdown) {
    let Some(listener) = listener else { return };
    let asks_for_keys = listener.endpoint().is_ok_and(|address| config.masstasker_door(address).asks_for_keys);
    let gate = asks_for_keys.then(|| Arc::new(front::masstasker::MassTaskerGate::of(app)));
    let settings = masstasker::Settings {
        max_message_bytes: config.masstasker_max_message_bytes,
        bootstrap_group: Some(config.bootstrap_task_group.clone()).filter(|group| !group.is_empty()),
        max_connections: config.max_connections,
        idle_timeout: config.idle_timeout,
        header_timeout: config.header_timeout,
        write_timeout: config.write_timeout,
        memory: Arc::clone(&app.memory),
        drain_timeout: config.drain_timeout,
        clients: config.behind_proxy.clone(),
        gate: gate.map(|gate| gate as Arc<dyn masstasker::gate::Gate>),
        ..masstasker::Settings::default()
    };
    masstasker::serve(settings, Arc::clone(&app.boards), listener, shutdown.clone()).await;
}

/// A program without the feature `boards` listens for none: [`Config::validate`] refuses an address for them.
#[cfg(not(feature = "boards"))]
async fn serve_masstasker(_: Option<Listener>, _: &Arc<App>, _: &Config, _: &Shutdown) {}
