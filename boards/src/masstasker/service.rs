//! The service: each call translated into verbs of a board and back.

use std::sync::Arc;

use jobbers_common::engine::boards::{Commit, CommitAnswer, Committed, Update, task::When};
use tonic::{Request, Response, Status, service::Routes};

use super::{
    debug,
    front::Front,
    proto::{
        BulkSetRequest, BulkSetResponse, DESCRIPTORS, DebugRequest, DebugResponse, QueryRequest, QueryResponse, Task,
        UpdateRequest, UpdateResponse,
        mass_tasker_server::{MassTasker, MassTaskerServer},
    },
    query, translate,
};

/// MassTasker, its health and its reflection.
pub(super) fn routes(front: &Arc<Front>) -> Routes {
    let service = MassTaskerServer::new(MassTaskerService(Arc::clone(front)))
        .max_decoding_message_size(front.settings.max_message_bytes)
        // What was taken in can be sent out: a task in an answer is a little larger than in its request.
        .max_encoding_message_size(usize::MAX);
    let (health, health_service) = tonic_health::server::health_reporter();
    let mut routes = Routes::new(service).add_service(health_service);
    let declared = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // A test reads both; were the declarations broken, clients could still call.
    if let (Ok(v1), Ok(v1alpha)) = (declared().build_v1(), declared().build_v1alpha()) {
        routes = routes.add_service(v1).add_service(v1alpha);
    }
    let leaving = front.leaving.clone();
    tokio::spawn(async move {
        health.set_serving::<MassTaskerServer<MassTaskerService>>().await;
        leaving.cancelled().await;
        health.set_not_serving::<MassTaskerServer<MassTaskerService>>().await;
    });
    routes.prepare()
}

/// The service over what all calls share.
#[derive(Debug)]
struct MassTaskerService(Arc<Front>);

#[tonic::async_trait]
impl MassTasker for MassTaskerService {
    async fn update(&self, request: Request<UpdateRequest>) -> Result<Response<UpdateResponse>, Status> {
        let UpdateRequest { created, deleted, predicates } = request.into_inner();
        let done = self
            .0
            .commit(Commit {
                require: predicates,
                delete: deleted.into_iter().map(translate::selection).collect::<Result<_, _>>()?,
                create: created.into_iter().map(translate::create).collect(),
                ..self.0.empty_commit()
            })
            .await?;
        let created_ids = done.created.iter().map(|task| task.revision).collect();
        Ok(Response::new(UpdateResponse { created_ids }))
    }

    async fn query(&self, request: Request<QueryRequest>) -> Result<Response<QueryResponse>, Status> {
        query::query(&self.0, request.into_inner()).await
    }

    async fn bulk_set(&self, request: Request<BulkSetRequest>) -> Result<Response<BulkSetResponse>, Status> {
        let BulkSetRequest { r#ref, prototype } = request.into_inner();
        let Task { group, not_before, .. } = prototype.unwrap_or_default();
        let group = Some(group).filter(|group| !group.is_empty());
        let at = not_before.as_ref().map(|at| When::At(translate::time(at)));
        let mut update: Vec<Update> = Vec::with_capacity(r#ref.len());
        for task in r#ref {
            let which = translate::selection(task)?;
            if update.iter().all(|earlier| earlier.which != which) {
                update.push(Update { which, group: group.clone(), at, content: None });
            }
        }
        let done = self.0.commit(Commit { update, ..self.0.empty_commit() }).await?;
        Ok(Response::new(BulkSetResponse { num_updated: done.updated.len() as u64 }))
    }

    async fn debug(&self, request: Request<DebugRequest>) -> Result<Response<DebugResponse>, Status> {
        debug::debug(&self.0, request.into_inner()).await.map(Response::new)
    }
}

impl Front {
    async fn commit(&self, commit: Commit) -> Result<Committed, Status> {
        match self.boards.commit(commit).await {
            Ok(CommitAnswer::Done(done)) => Ok(done),
            Ok(CommitAnswer::Conflict(conflicts)) => Err(translate::refusal(&conflicts)),
            // Only for commits with a mark, which these have not.
            Ok(CommitAnswer::AlreadyDone) => Ok(Committed::default()),
            Err(error) => Err(translate::failure(&error)),
        }
    }
}
