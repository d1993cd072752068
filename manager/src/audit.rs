//! The audit log: every change that comes over HTTP is logged before it is carried out, and again with its outcome.
//!
//! The middleware begins a [`Change`] for a request of an operation whose scopes are audited
//! ([`jobbers_common::access::Scope::is_audited`]), and answers its client only once the outcome is stored. A change that can't
//! be logged is refused. Both records wait in the store; the manager that keeps the dead letters moves them to its archive
//! ([`outbox`]). One that dies in between leaves a change without an outcome, which is logged as unknown.
//!
//! The fronts of MassTasker and TaskStore put tasks in and take them: that is work, and no change.
//!
//! Start reading at [`AuditedOperations::asked_for`], then [`Change::begin`].

use std::{
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::Request,
    http::Extensions,
    response::{IntoResponse, Response},
};
use jobbers_api::problem::{Code, Problem};
use jobbers_common::{
    audit_log::{ChangeOutcome, ChangeRecord, ChangeResult, Way},
    engine::{Error, LoggedKey},
    name::ChangeId,
};
use serde_json::Value;
use utoipa::openapi::OpenApi;

use self::{
    audited::{Audited, PassedOn},
    subject::Subject,
};
use crate::{
    app::App,
    dead_letters::changes::{new_id, unknown},
    doors::{Admission, OfOperations, Requirement, requirement, sessions::OfPage},
    listening::client_address::ClientAddress,
};

pub(crate) mod audited;
pub(crate) mod command;
mod subject;

/// How often an outcome is logged again that a store which can't be reached did not take, and the pause before.
const OUTCOME_TRIES: u32 = 5;
const OUTCOME_PAUSE: Duration = Duration::from_millis(300);

/// The operations that are changes: the id of each.
#[derive(Debug, Default)]
pub(crate) struct AuditedOperations(OfOperations<String>);

impl AuditedOperations {
    /// Those of a description.
    pub(crate) fn of(description: &OpenApi) -> Self {
        Self(OfOperations::read(description, |_, _, operation| match requirement(operation) {
            Ok(Requirement::Scopes(scopes)) if scopes.iter().any(|scope| scope.is_audited()) => {
                Some(operation.operation_id.clone().unwrap_or_default())
            }
            _ => None,
        }))
    }

    /// The change that a request asks for, if it asks for one.
    pub(crate) fn asked_for(
        &self,
        request: &Request,
        route: Option<&str>,
        (pass, request_id): (&Admission, &str),
    ) -> Option<AskedChange> {
        let route = route.filter(|_| !request.method().is_safe())?;
        let operation = self.0.get(request.method(), route)?;
        let key = pass.key();
        let record = ChangeRecord {
            way: pass.way().unwrap_or_else(|| way_of(request.extensions())),
            key: key.map(|key| key.id.clone()),
            by: key.map(|key| key.name.clone()),
            address: request.extensions().get().map(|ClientAddress(address)| address.to_string()),
            operation: operation.clone(),
            object: subject::object_of(request.uri().path(), route),
            request: Some(request_id.to_owned()),
        };
        Some(AskedChange { route: route.to_owned(), record })
    }
}

/// A change that a request asks for.
#[derive(Debug)]
pub(crate) struct AskedChange {
    route: String,
    record: ChangeRecord,
}

/// A change that is logged and under way. One that is dropped, because its client went away, is logged as unknown.
#[derive(Debug)]
pub(crate) struct Change {
    app: Arc<App>,
    id: ChangeId,
    /// As it was logged.
    record: String,
    route: String,
    subject: Option<Subject>,
    before: Option<Value>,
    began: Instant,
    is_logged: bool,
}

impl Change {
    /// Logs a change that is about to be carried out.
    ///
    /// # Errors
    /// If it can't be logged; then it must not be carried out.
    pub(crate) async fn begin(app: &Arc<App>, AskedChange { route, record }: AskedChange) -> Result<Self, Problem> {
        let subject = Subject::of(&route, record.object.as_deref());
        let before = match &subject {
            Some(subject) => subject.read(app).await?,
            None => None,
        };
        let (id, operation, record) = (new_id(), record.operation.clone(), record.encode());
        if let Err(error) = app.engine.log_change(&id, &record).await {
            app.meters.change_refused();
            tracing::warn!(operation, %error, "a change can't be logged, and is refused");
            return Err(error.into());
        }
        let (app, began) = (Arc::clone(app), Instant::now());
        Ok(Self { app, id, record, route, subject, before, began, is_logged: true })
    }

    /// Logs the outcome that an answer tells, and gives the answer back; or one that says that the outcome is not logged.
    pub(crate) async fn end(mut self, mut response: Response) -> Response {
        let is_elsewhere = response.extensions().get::<PassedOn>().is_some();
        let logged = match is_elsewhere {
            true => self.withdraw().await,
            false => {
                let audited = response.extensions_mut().remove::<Audited>().unwrap_or_default();
                let answered = (response.status().as_u16(), response.extensions().get::<Code>().copied());
                let outcome = self.outcome(answered, audited).await;
                self.app.meters.change_logged(outcome.result);
                self.log_outcome(&outcome.encode()).await
            }
        };
        self.is_logged = false;
        match logged {
            Ok(()) => response,
            Err(error) => {
                tracing::error!(%error, change = %self.id, "the outcome of a change can't be logged");
                // The answer of the handler may say the same.
                if response.status().is_server_error() { response } else { Problem::from(error).into_response() }
            }
        }
    }

    async fn outcome(&mut self, (status, code): (u16, Option<Code>), audited: Audited) -> ChangeOutcome {
        let Audited { object, counts, ids } = audited;
        // A key is checked before; one that ends meanwhile cuts the handler off.
        let is_cut_off = code == Some(Code::KeyRefused);
        let result = if is_cut_off { ChangeResult::Unknown } else { ChangeResult::of_status(status) };
        let mut outcome = ChangeOutcome {
            status: Some(status),
            problem: code.map(|code| code.as_str().to_owned()),
            took_us: u64::try_from(self.began.elapsed().as_micros()).ok(),
            object,
            counts: counts.into_iter().map(|(what, count)| (what.to_owned(), count)).collect(),
            ids,
            ..ChangeOutcome::of(result)
        };
        let subject = self.subject.take().or_else(|| Subject::of(&self.route, outcome.object.as_deref()));
        if let Some(subject) = subject.filter(|_| result != ChangeResult::Refused) {
            // What it was is logged even if what it is can't be read.
            let after = subject.read(&self.app).await.unwrap_or_default();
            (outcome.before, outcome.after) = subject::differences(self.before.take(), after);
        }
        outcome
    }

    /// Logs the outcome. A store that can't be reached is tried again for a while.
    async fn log_outcome(&self, outcome: &str) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match log_outcome(&self.app, &self.id, &self.record, outcome).await {
                Err(Error::Unavailable { .. }) if tries < OUTCOME_TRIES => tokio::time::sleep(OUTCOME_PAUSE).await,
                logged => return logged,
            }
        }
    }

    /// Takes back what was logged: another manager carried the change out.
    async fn withdraw(&self) -> Result<(), Error> {
        let key = LoggedKey { id: self.id.clone(), has_outcome: false };
        self.app.engine.forget_logged_changes(&[key]).await
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if !mem::take(&mut self.is_logged) {
            return;
        }
        let (app, id, record) = (Arc::clone(&self.app), self.id.clone(), mem::take(&mut self.record));
        let outcome = unknown("the client went away before it was answered").encode();
        app.meters.change_logged(ChangeResult::Unknown);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            // If this fails too, it becomes unknown later.
            log_outcome(&app, &id, &record, &outcome).await.ok();
        });
    }
}

/// Logs an outcome; for a change that an archive took meanwhile without one, the change again, which the archive joins with
/// what it has.
async fn log_outcome(app: &App, id: &ChangeId, record: &str, outcome: &str) -> Result<(), Error> {
    if !app.engine.log_outcome(id, outcome).await? {
        app.engine.log_change(id, record).await?;
        app.engine.log_outcome(id, outcome).await?;
    }
    Ok(())
}

fn way_of(extensions: &Extensions) -> Way {
    if extensions.get::<OfPage>().is_some() { Way::Page } else { Way::Api }
}
