//! The nodes of a Redis Cluster.

use super::{
    member::{GONE_AFTER, PATIENCE, follows},
    network::{Network, Place},
};
use crate::{
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

/// The slot of a store's keys, `jobbers:{0}:`.
pub const SLOT: u16 = 13_907;
const SLOTS: u16 = 16_384;

/// Starts the primaries of a Cluster, and then the replicas of each.
///
/// # Panics
/// When it does not stand in time.
pub(super) async fn start_cluster(
    primaries: usize,
    replicas: usize,
    options: &RedisOptions,
    network: &Network,
) -> Vec<RedisServer> {
    let count = primaries * (1 + replicas);
    let nodes: Vec<(RedisServer, Place)> = (0..count).map(|index| start_node(options, network, index)).collect();
    for (index, (node, _)) in nodes.iter().enumerate() {
        if index < primaries {
            let bound =
                |n: usize| u32::from(SLOTS) * u32::try_from(n).expect("few") / u32::try_from(primaries).expect("few");
            let range = format!("CLUSTER ADDSLOTSRANGE {} {}", bound(index), bound(index + 1) - 1);
            assert_eq!(node.command(&range), "+OK\r\n");
        }
        assert_eq!(node.command(&format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1)), "+OK\r\n");
    }
    for (index, (node, _)) in nodes.iter().enumerate() {
        for (_, other) in &nodes[index + 1..] {
            let met =
                node.command(&format!("CLUSTER MEET 127.0.0.1 {} {}", other.port, other.bus.expect("a node has one")));
            assert_eq!(met, "+OK\r\n");
        }
    }
    let servers: Vec<RedisServer> = nodes.into_iter().map(|(node, _)| node).collect();
    let id_of = |node: &RedisServer| node.command("CLUSTER MYID").lines().nth(1).expect("an id").to_owned();
    let ids: Vec<String> = servers.iter().map(id_of).collect();
    for (index, node) in servers.iter().enumerate() {
        until(PATIENCE, "the nodes know each other", async || {
            let known = node.command("CLUSTER NODES");
            (ids.iter().all(|id| known.contains(id)) && !known.contains("handshake")).then_some(())
        })
        .await;
        if index >= primaries {
            let primary = &ids[(index - primaries) % primaries];
            let follow =
                async || node.command(&format!("CLUSTER REPLICATE {primary}")).starts_with("+OK").then_some(());
            until(PATIENCE, "a node becomes a replica", follow).await;
        }
    }
    until(PATIENCE, "the Cluster stands", async || {
        let is_whole = |node: &RedisServer| {
            let roles = node.command("CLUSTER NODES");
            let replicas = roles.lines().filter(|line| line.contains("slave")).count();
            node.command("CLUSTER INFO").contains("cluster_state:ok") && replicas == count - primaries
        };
        let follow = servers.iter().skip(primaries).all(follows);
        (follow && servers.iter().all(is_whole)).then_some(())
    })
    .await;
    servers
}

/// A node, and where the others reach it.
fn start_node(options: &RedisOptions, network: &Network, index: usize) -> (RedisServer, Place) {
    let own = [
        ["--cluster-node-timeout", GONE_AFTER],
        ["--cluster-replica-validity-factor", "0"],
        ["--cluster-allow-replica-migration", "no"],
        ["--repl-diskless-sync-delay", "0"],
    ];
    let mut arguments = [options.arguments.clone(), own.concat().into_iter().map(str::to_owned).collect()].concat();
    arguments.extend(network.source_of(index));
    let announced = network.place(index);
    if let Some(Place { port, bus }) = announced {
        arguments.extend(["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port"].map(str::to_owned));
        arguments.push(port.to_string());
        arguments.extend(bus.into_iter().flat_map(|bus| ["--cluster-announce-bus-port".to_owned(), bus.to_string()]));
    }
    let server = RedisServer::start(RedisOptions { arguments, is_of_cluster: true, ..options.clone() });
    let (own, bus) = (server.address().port(), server.bus());
    network.leads_to(index, own, bus);
    let reached_at = match announced {
        Some(Place { port, bus: Some(bus) }) => Place { port, bus: Some(bus) },
        // What leads to an announced port may not be there yet.
        _ => Place { port: own, bus },
    };
    (server, reached_at)
}
