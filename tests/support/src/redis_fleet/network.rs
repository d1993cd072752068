//! A network between servers, their watchers and their clients, which can be cut.
//!
//! Each server is reached through *gates*, ports of loopback that it announces in place of its own. A gate knows who speaks to
//! it by the address that the other side is bound to. What it does not let through stays until the network is mended, as what TCP
//! sends again; neither side is notified.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::AbortHandle,
};

use crate::port::free_port;

/// Where clients are, and all that is bound to nothing else.
const CLIENTS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Where Sentinels are.
const SENTINELS: Ipv4Addr = Ipv4Addr::new(127, 0, 2, 1);

/// Who does not reach a server any more, nor is reached by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The programs that use it.
    Clients,
    /// Its replicas; what chooses the primary still reaches it.
    Replicas,
    /// All but its clients: what chooses the primary takes it for gone, and it goes on as before.
    Others,
}

/// Where a server says that it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) port: u16,
    /// Where it speaks to the other nodes of a Cluster.
    pub(super) bus: Option<u16>,
}

/// The places of some servers, and the gates to them. Of a server without a place, its own port is known.
#[derive(Debug, Default)]
pub(super) struct Network {
    pub(super) places: Vec<Place>,
    /// One for each server, or none.
    gates: Vec<Gates>,
}

/// The gates of one server.
#[derive(Debug)]
struct Gates {
    data: Gate,
    bus: Gate,
}

impl Network {
    /// Servers that announce other ports than their own, to which something else leads.
    pub(super) fn announcing(servers: usize) -> Self {
        let places = (0..servers).map(|_| Place { port: free_port(), bus: None }).collect();
        Self { places, gates: Vec::new() }
    }

    /// A network that can be cut, for so many servers.
    ///
    /// # Panics
    /// When no ports can be had.
    pub(super) async fn with_gates(servers: usize) -> Self {
        let (mut places, mut gates) = (Vec::new(), Vec::new());
        for _ in 0..servers {
            let (port, data) = Gate::open().await;
            let (bus_port, bus) = Gate::open().await;
            places.push(Place { port, bus: Some(bus_port) });
            gates.push(Gates { data, bus });
        }
        Self { places, gates }
    }

    pub(super) fn place(&self, server: usize) -> Option<Place> {
        self.places.get(server).copied()
    }

    /// Arguments that bind what a server sends to an address of its own.
    pub(super) fn source_of(&self, server: usize) -> Vec<String> {
        let arguments = || ["--bind-source-addr".to_owned(), server_source(server).to_string()].to_vec();
        if self.gates.is_empty() { Vec::new() } else { arguments() }
    }

    /// The lines that do the same for a Sentinel. It would announce the address that it is bound to.
    pub(super) fn source_of_sentinels(&self) -> Vec<String> {
        let lines = || vec![format!("bind-source-addr {SENTINELS}"), "sentinel announce-ip 127.0.0.1".to_owned()];
        if self.gates.is_empty() { Vec::new() } else { lines() }
    }

    /// Has the gates of a server lead to it.
    pub(super) fn leads_to(&self, server: usize, port: u16, bus: Option<u16>) {
        if let Some(gates) = self.gates.get(server) {
            gates.data.leads_to.send_replace(Some(port));
            gates.bus.leads_to.send_replace(bus);
        }
    }

    /// Cuts a server off.
    ///
    /// # Panics
    /// When the network can't be cut.
    pub(super) fn cut(&self, server: usize, cut: Cut) {
        assert!(!self.gates.is_empty(), "start_in_network makes a network that can be cut");
        let servers: Vec<Ipv4Addr> = (0..self.gates.len()).map(server_source).collect();
        let own = &self.gates[server];
        match cut {
            Cut::Clients => own.data.close_to(vec![CLIENTS]),
            Cut::Replicas => own.data.close_to(servers),
            Cut::Others => {
                own.bus.close_to(servers.clone());
                own.data.close_to([servers, vec![SENTINELS]].concat());
                for (other, gates) in self.gates.iter().enumerate() {
                    if other != server {
                        gates.data.close_to(vec![server_source(server)]);
                        gates.bus.close_to(vec![server_source(server)]);
                    }
                }
            }
        }
    }

    /// Mends all that was cut.
    pub(super) fn mend(&self) {
        for gates in &self.gates {
            gates.data.close_to(Vec::new());
            gates.bus.close_to(Vec::new());
        }
    }
}

fn server_source(server: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, u8::try_from(server + 1).expect("few servers"))
}

/// A port that leads to another one. Ends when dropped.
#[derive(Debug)]
struct Gate {
    leads_to: watch::Sender<Option<u16>>,
    /// From whom nothing passes, nor to them.
    closed_to: watch::Sender<Vec<Ipv4Addr>>,
    accepting: AbortHandle,
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Gate {
    /// Opens a gate, and returns its port.
    async fn open() -> (u16, Self) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (leads_to, closed_to) = (watch::Sender::new(None), watch::Sender::new(Vec::new()));
        let (target, closed) = (leads_to.subscribe(), closed_to.subscribe());
        let accepting = tokio::spawn(async move {
            while let Ok((near, from)) = listener.accept().await {
                let passage = Passage { closed: closed.clone(), from: from.ip() };
                // A connection ends when one of its sides does.
                tokio::spawn(passage.pass(near, target.clone()));
            }
        });
        (port, Self { leads_to, closed_to, accepting: accepting.abort_handle() })
    }

    fn close_to(&self, sources: Vec<Ipv4Addr>) {
        self.closed_to.send_replace(sources);
    }
}

/// One connection through a gate.
#[derive(Clone)]
struct Passage {
    closed: watch::Receiver<Vec<Ipv4Addr>>,
    from: IpAddr,
}

impl Passage {
    async fn pass(mut self, near: TcpStream, mut target: watch::Receiver<Option<u16>>) {
        let Ok(port) = target.wait_for(Option::is_some).await.map(|port| *port) else { return };
        self.opened().await;
        let far = SocketAddr::from((Ipv4Addr::LOCALHOST, port.expect("it was waited for")));
        let Ok(far) = TcpStream::connect(far).await else { return };
        let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
        tokio::select! {
            () = self.clone().carry(from_near, to_far) => {}
            () = self.carry(from_far, to_near) => {}
        }
    }

    /// Waits until the gate is open to this connection.
    async fn opened(&mut self) {
        let from = self.from;
        // An error says that the gate is gone, and its connections with it.
        let _ = self.closed.wait_for(|closed| !closed.iter().any(|source| from == *source)).await;
    }

    async fn carry(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from.read(&mut buffer).await;
            // The end of a connection is not heard of either.
            self.opened().await;
            match read {
                Ok(read @ 1..) if to.write_all(&buffer[..read]).await.is_ok() => {}
                _ => return,
            }
        }
    }
}
