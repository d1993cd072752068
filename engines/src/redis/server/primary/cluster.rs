//! Asks nodes of a Cluster which of them is the primary of the store's slot.
//!
//! A node answers the question for a key of the store if it owns the slot, and names the owner otherwise (`MOVED`). So no
//! table of slots is needed, and a node that answers is verified.

use futures_util::stream::{FuturesUnordered, StreamExt};
use jobbers_common::engine::{Error, Result};
use parking_lot::Mutex;
use redis::{Client, RedisError, RedisResult, Value};

use super::{
    greeting::{Mode, greet},
    node::{ASK_WITHIN, client_at, connect, place_of},
};
use crate::redis::server::failure::{moved_to, translate};

/// How often one search follows `MOVED`.
const HOPS: usize = 3;
/// Nodes that are remembered besides those of the address.
const LEARNED: usize = 64;

/// The nodes of one Cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Those that the address names.
    named: Vec<Client>,
    /// Further ones that a node named.
    learned: Mutex<Vec<(String, u16)>>,
    /// A key of the store.
    key: String,
}

impl Cluster {
    /// A Cluster with these nodes, for the store that has this key.
    pub(crate) fn new(nodes: Vec<Client>, key: String) -> Self {
        Self { named: nodes, learned: Mutex::default(), key }
    }

    /// The nodes of the address, each as `HOST:PORT`.
    pub(crate) fn places(&self) -> Vec<String> {
        self.named.iter().map(|node| node.get_connection_info().addr().to_string()).collect()
    }

    /// Finds the primary of the store's slot: all nodes are asked, and the first answer counts.
    ///
    /// # Errors
    /// If no node leads to an owner of the slot that answers, or if a node belongs to no Cluster.
    pub(crate) async fn find(&self) -> Result<Client> {
        let mut nodes = self.named.clone();
        if let Some(like) = self.named.first() {
            nodes.extend(self.learned.lock().iter().filter_map(|(host, port)| client_at(like, host, *port).ok()));
        }
        let mut searches: FuturesUnordered<_> = nodes.into_iter().map(|node| self.find_from(node)).collect();
        let mut problem = None;
        while let Some(found) = searches.next().await {
            match found {
                Ok(owner) => return Ok(owner),
                Err(error) if matches!(error, Error::Config(_)) || problem.is_none() => problem = Some(error),
                Err(_) => {}
            }
        }
        Err(problem.unwrap_or_else(|| Error::unavailable("no node of the Redis Cluster answers")))
    }

    /// Asks a node, and those that it leads to.
    async fn find_from(&self, node: Client) -> Result<Client> {
        let mut node = node;
        for _ in 0..HOPS {
            let owner = match self.ask(&node).await? {
                None => return Ok(node),
                Some(owner) => owner,
            };
            self.learn([owner.clone()]);
            node = client_at(&node, &owner.0, owner.1)?;
        }
        Err(Error::unavailable("the nodes of the Redis Cluster do not agree on the primary of this store's slot"))
    }

    /// Asks a node for a key of the store. Returns the owner of the slot if it is another node.
    async fn ask(&self, node: &Client) -> Result<Option<(String, u16)>> {
        let place = place_of(node);
        let explain = |error: &RedisError| match translate(error) {
            config @ Error::Config(_) => config,
            error => Error::unavailable(format!("the node {}:{} can't be asked: {error}", place.0, place.1)),
        };
        let mut connection = connect(node, ASK_WITHIN, ASK_WITHIN).await.map_err(|error| explain(&error))?;
        greet(&mut connection).await.map_err(|error| explain(&error))?.expect(Mode::Cluster, node)?;
        let answer: RedisResult<Value> = redis::cmd("EXISTS").arg(&self.key).query_async(&mut connection).await;
        match answer {
            Ok(_) => {
                // A login without permission learns no further nodes.
                let slots: RedisResult<Value> = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await;
                self.learn(slots.map(|slots| nodes_of(&slots, &place.0)).unwrap_or_default());
                Ok(None)
            }
            Err(error) => match moved_to(&error) {
                // A node that does not know the name of another leaves it out: it has the same one.
                Some(("", port)) => Ok(Some((place.0.clone(), port))),
                Some((host, port)) => Ok(Some((host.to_owned(), port))),
                None => Err(explain(&error)),
            },
        }
    }

    fn learn(&self, nodes: impl IntoIterator<Item = (String, u16)>) {
        let mut learned = self.learned.lock();
        for node in nodes {
            let is_known = learned.contains(&node) || self.named.iter().any(|named| place_of(named) == node);
            if is_known {
                continue;
            }
            if learned.len() >= LEARNED {
                learned.remove(0);
            }
            learned.push(node);
        }
    }
}

/// Host and port of each node in an answer to `CLUSTER SLOTS`. A node without a name has that of the one that answered.
fn nodes_of(slots: &Value, answered: &str) -> Vec<(String, u16)> {
    fn items(value: &Value) -> &[Value] {
        if let Value::Array(items) = value { items } else { &[] }
    }
    let nodes = items(slots).iter().flat_map(|range| items(range).iter().skip(2));
    let place = |node: &Value| {
        let [host, port, ..] = items(node) else { return None };
        let host: Option<String> = redis::from_redis_value_ref(host).ok()?;
        let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| answered.to_owned());
        Some((host, redis::from_redis_value_ref(port).ok()?))
    };
    nodes.filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_of_a_table_of_slots_are_read() {
        let node = |host: Value, port| Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())]);
        let named = |host: &str| Value::BulkString(host.as_bytes().to_vec());
        let range = |nodes: Vec<Value>| Value::Array([vec![Value::Int(0), Value::Int(9)], nodes].concat());
        let slots = Value::Array(vec![
            range(vec![node(named("a"), 1), node(Value::Nil, 2)]),
            range(vec![node(named(""), 3), Value::Int(7)]),
        ]);
        let nodes = [("a", 1), ("here", 2), ("here", 3)].map(|(host, port)| (host.to_owned(), port));
        assert_eq!(nodes_of(&slots, "here"), nodes);
        assert_eq!(nodes_of(&Value::Okay, "here"), []);
    }
}
