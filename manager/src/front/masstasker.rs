//! Lets MassTasker's clients in by the keys that their certificates name. They call over gRPC, so no middleware sees them.

use std::sync::Arc;

use axum::http::{Method, header};
use futures_util::future::BoxFuture;
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_boards::masstasker::{
    BOARD,
    gate::{BoardAccess, Gate, GateRefusal, GatedCall},
};

use crate::{
    app::App,
    doors::{AccessRequest, Admission, Doors},
    listening::{client_address::ClientAddress, identity::Identity},
};

/// The gate of a port for MassTasker's clients.
#[derive(Debug)]
pub(crate) struct MassTaskerGate {
    app: Arc<App>,
    doors: Doors,
}

impl MassTaskerGate {
    /// Lets clients in by their keys.
    pub(crate) fn of(app: &Arc<App>) -> Self {
        Self { app: Arc::clone(app), doors: Doors::of_front(BOARD, true) }
    }

    async fn check(&self, GatedCall { connection, address, headers, access }: GatedCall<'_>) -> Result<Admission> {
        let has_key = headers.contains_key(header::AUTHORIZATION);
        let shown = connection.certificate_name().filter(|_| !has_key).cloned();
        let identity = shown.and_then(|shown| Identity::over(shown, headers));
        let method = match access {
            BoardAccess::Look => Method::GET,
            BoardAccess::Change => Method::POST,
        };
        let request = AccessRequest { method: &method, headers, identity: identity.as_ref(), takes_sessions: false };
        let admission = self.doors.check(&self.app, request, None).await;
        let client = address.map(ClientAddress);
        let admission = admission.map_err(|problem| self.app.failures.answer(problem, client, &self.app.meters))?;
        admission.reach().map_or(Ok(()), |reach| reach.check_board(BOARD))?;
        Ok(admission)
    }
}

impl Gate for MassTaskerGate {
    fn let_in<'a>(
        &'a self,
        call: GatedCall<'a>,
    ) -> BoxFuture<'a, std::result::Result<BoxFuture<'static, ()>, GateRefusal>> {
        Box::pin(async move {
            let admission = self.check(call).await.map_err(|problem| refusal(&problem))?;
            let app = Arc::clone(&self.app);
            let ended: BoxFuture<'static, ()> = Box::pin(async move { admission.end(&app.live).await });
            Ok(ended)
        })
    }
}

fn refusal(problem: &Problem) -> GateRefusal {
    let detail = problem.detail().to_owned();
    match problem.code() {
        Code::ScopeMissing | Code::OutOfReach | Code::IdentityUnknown => GateRefusal::Forbidden(detail),
        code if code.status().is_client_error() => GateRefusal::Unauthenticated(detail),
        _ => GateRefusal::Undecided(detail),
    }
}
