//! What is too large, and what a client may ask of the server itself: health and reflection.

use jobbers_boards::masstasker::{
    Settings,
    proto::{DebugRequest, Task, UpdateRequest},
};
use jobbers_process::server::memory::ClientMemory;
use prost_types::Any as Payload;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::{
    server::{Server, by_id, connected, refused, task},
    stores::Kind,
};

const MIB: usize = 1024 * 1024;

fn sized(bytes: usize) -> Task {
    let value = vec![7; bytes];
    Task { data: Some(Payload { type_url: "t".to_owned(), value }), ..task("a") }
}

async fn a_message_over_4_mib_is_refused_unless_configured(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let over = UpdateRequest { created: vec![sized(4 * MIB)], ..Default::default() };
    refused(api.update(over.clone()).await, Code::ResourceExhausted);
    assert_eq!(api.create(vec![sized(4 * MIB - 1_000)]).await, [1], "the connection goes on");
    assert_eq!(api.own("a").await.unwrap().data.unwrap().value.len(), 4 * MIB - 1_000);

    let settings = Settings { max_message_bytes: 5 * MIB, ..Settings::default() };
    let larger = Server::start_with(kind, settings).await;
    assert_eq!(larger.client().await.update(over).await.unwrap(), [1]);
}

async fn a_list_over_the_bound_is_refused_and_a_shorter_one_is_not(kind: Kind) {
    let settings = Settings { max_message_bytes: MIB, ..Settings::default() };
    let server = Server::start_with(kind, settings).await;
    let mut api = server.client().await;
    for _ in 0..5 {
        api.create(vec![sized(MIB / 4)]).await;
    }
    let all = api.0.debug(DebugRequest { group: "a".to_owned(), limit: 0 }).await;
    let status = refused(all, Code::ResourceExhausted);
    assert!(status.message().contains("3 tasks fit"), "{status:?}");
    assert_eq!(api.debug("", 3).await.tasks.len(), 3);
}

async fn what_a_message_holds_is_counted_before_it_is_read(kind: Kind) {
    let settings = Settings { memory: ClientMemory::new(2 * MIB), ..Settings::default() };
    let server = Server::start_with(kind, settings).await;
    let mut api = server.client().await;
    let empty = |count: usize| UpdateRequest { created: vec![Task::default(); count], ..Default::default() };
    // 18 kB, and some megabytes of tasks.
    refused(api.update(empty(9_000)).await, Code::Unavailable);
    let labels = (0..9_000).map(|n| (n.to_string(), String::new())).collect();
    let labelled = UpdateRequest { created: vec![Task { labels, ..task("a") }], ..Default::default() };
    refused(api.update(labelled).await, Code::Unavailable);
    assert_eq!(api.update(empty(1_000)).await.unwrap().len(), 1_000);
    // More than a step may change are refused whatever they take.
    let (_server, mut api) = connected(kind).await;
    refused(api.update(empty(100_000)).await, Code::InvalidArgument);
}

async fn what_breaks_a_bound_of_the_store_is_refused_whole(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    let long = task(&"g".repeat(1_025));
    let request = UpdateRequest { created: vec![task("a"), long], ..Default::default() };
    refused(api.update(request).await, Code::InvalidArgument);
    let many = UpdateRequest { created: vec![task("a"); 10_001], ..Default::default() };
    refused(api.update(many).await, Code::InvalidArgument);
    refused(api.delete(vec![by_id(u64::MAX)]).await, Code::NotFound);
    refused(api.delete(vec![by_id(0)]).await, Code::NotFound);
    assert_eq!(api.count("").await, 0);
    assert_eq!(api.create(vec![task("a")]).await, [1], "no id was consumed");
}

async fn reflection_lists_the_service_in_both_versions(kind: Kind) {
    let server = Server::start(kind).await;
    let channel = server.channel().await;
    macro_rules! services {
        ($version:ident) => {{
            use tonic_reflection::pb::$version::{
                ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
            };
            let message_request = Some(MessageRequest::ListServices(String::new()));
            let request = ServerReflectionRequest { host: String::new(), message_request };
            let asked = futures_util::stream::iter([request]);
            let mut client = ServerReflectionClient::new(channel.clone());
            let mut answers = client.server_reflection_info(asked).await.unwrap().into_inner();
            match answers.message().await.unwrap().unwrap().message_response {
                Some(MessageResponse::ListServicesResponse(list)) => {
                    list.service.into_iter().map(|service| service.name).collect::<Vec<_>>()
                }
                other => panic!("{other:?}"),
            }
        }};
    }
    for services in [services!(v1), services!(v1alpha)] {
        for expected in ["masstasker.MassTasker", "grpc.health.v1.Health"] {
            assert!(services.iter().any(|name| name == expected), "{services:?}");
        }
    }
}

async fn health_says_that_the_service_serves(kind: Kind) {
    let server = Server::start(kind).await;
    let mut health = HealthClient::new(server.channel().await);
    for service in ["", "masstasker.MassTasker"] {
        let answer = health.check(HealthCheckRequest { service: service.to_owned() }).await.unwrap();
        assert_eq!(answer.into_inner().status(), tonic_health::ServingStatus::Serving.into(), "{service:?}");
    }
}

async fn a_call_that_does_not_exist_is_unimplemented(kind: Kind) {
    let server = Server::start(kind).await;
    let mut grpc = tonic::client::Grpc::new(server.channel().await);
    grpc.ready().await.unwrap();
    let path = tonic::codegen::http::uri::PathAndQuery::from_static("/masstasker.MassTasker/Nothing");
    let codec = tonic_prost::ProstCodec::<UpdateRequest, UpdateRequest>::default();
    let answer = grpc.unary(tonic::Request::new(UpdateRequest::default()), path, codec).await;
    refused(answer, Code::Unimplemented);
}

on_every_store!(
    a_message_over_4_mib_is_refused_unless_configured,
    a_list_over_the_bound_is_refused_and_a_shorter_one_is_not,
    what_a_message_holds_is_counted_before_it_is_read,
    what_breaks_a_bound_of_the_store_is_refused_whole,
    reflection_lists_the_service_in_both_versions,
    health_says_that_the_service_serves,
    a_call_that_does_not_exist_is_unimplemented,
);
