//! A client of MassTasker.

use std::{error::Error, net::SocketAddr};

use jobbers_boards::masstasker::proto::{
    DebugRequest, QueryRequest, Task, TaskRef, UpdateRequest, mass_tasker_client::MassTaskerClient, task_ref::Sel,
};
use prost_types::{Any, Duration};
use tonic::{Code, Status, transport::Channel};

use super::{Client, Lost, Shown};

/// A client.
pub(super) struct MassTasker(MassTaskerClient<Channel>);

/// What a manager that went away leaves a client with. A refusal fails the test.
fn lost(status: &Status) -> Lost {
    assert!(status.source().is_some(), "refused: {status:?}");
    Lost
}

fn shown(task: Task) -> Shown {
    let data = String::from_utf8(task.data.unwrap().value).unwrap();
    Shown { id: i64::try_from(task.id).unwrap(), data }
}

impl Client for MassTasker {
    const MANAGER: (&'static [&'static str], &'static str) =
        (&["--masstasker-listen", "127.0.0.1:0"], "listening for clients of MassTasker");

    async fn connect(address: SocketAddr, _client: i64) -> Result<Self, Lost> {
        let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await;
        channel.map(|channel| Self(MassTaskerClient::new(channel))).map_err(|_| Lost)
    }

    async fn add(&mut self, data: &str) -> Result<i64, Lost> {
        let data = Any { type_url: "type.googleapis.com/Name".to_owned(), value: data.into() };
        let created = vec![Task { group: "work".to_owned(), data: Some(data), ..Task::default() }];
        let answer = self.0.update(UpdateRequest { created, ..UpdateRequest::default() }).await;
        let ids = answer.map_err(|status| lost(&status))?.into_inner().created_ids;
        Ok(i64::try_from(ids[0]).unwrap())
    }

    async fn claim(&mut self) -> Result<Option<Shown>, Lost> {
        let own_for = Some(Duration { seconds: 3_600, nanos: 0 });
        let query = QueryRequest { group: "work".to_owned(), own_for, ..QueryRequest::default() };
        match self.0.query(query).await {
            Ok(answer) => Ok(answer.into_inner().task.map(shown)),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(lost(&status)),
        }
    }

    async fn delete(&mut self, id: i64) -> Result<(), Lost> {
        let deleted = vec![TaskRef { sel: Some(Sel::Id(u64::try_from(id).unwrap())) }];
        let answer = self.0.update(UpdateRequest { deleted, ..UpdateRequest::default() }).await;
        answer.map(drop).map_err(|status| lost(&status))
    }

    async fn list(&mut self) -> Result<Vec<Shown>, Lost> {
        let answer = self.0.debug(DebugRequest { group: "work".to_owned(), limit: 0 }).await;
        Ok(answer.map_err(|status| lost(&status))?.into_inner().tasks.into_iter().map(shown).collect())
    }
}
