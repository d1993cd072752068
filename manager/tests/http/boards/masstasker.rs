//! MassTasker's clients at the manager: where they are answered, and their first task.

use std::sync::Arc;

use jobbers_boards::masstasker::proto::{DebugRequest, Task, UpdateRequest, mass_tasker_client::MassTaskerClient};
use jobbers_law::model::ModelEngine;
use jobbers_manager::{Config, Listeners};
use jobbers_process::shutdown::Shutdown;
use tokio::net::TcpListener;
use tonic::transport::Channel;

use crate::server::soon;

#[tokio::test]
async fn a_port_of_their_own_answers_masstasker_s_clients_and_the_bootstrap_task_is_made_once() {
    let engine = Arc::new(ModelEngine::with_system_clock());
    for expected in [1, 2] {
        let shutdown = Shutdown::new();
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", grpc.local_addr().unwrap());
        let config =
            Config { dlq_path: "none".to_owned(), bootstrap_task_group: "boot".to_owned(), ..Config::default() };
        let listeners = Listeners { masstasker: Some(grpc.into()), ..Listeners::from(http) };
        let running = tokio::spawn(jobbers_manager::run(config, Arc::clone(&engine) as _, listeners, shutdown.clone()));
        let mut client = MassTaskerClient::new(Channel::from_shared(address).unwrap().connect().await.unwrap());
        let made = client.update(UpdateRequest {
            created: vec![Task { group: "work".to_owned(), ..Task::default() }],
            ..UpdateRequest::default()
        });
        // The bootstrap task took the first id, in the first life of the manager only.
        assert_eq!(made.await.unwrap().into_inner().created_ids, [expected + 1]);
        let boot = client.debug(DebugRequest { group: "boot".to_owned(), limit: 0 }).await.unwrap().into_inner();
        assert_eq!((boot.num_tasks, boot.tasks[0].id), (1, 1));
        drop(client);
        shutdown.drain.cancel();
        soon(running).await.unwrap();
    }
}
