//! Addresses that no other test can get.

use std::net::{SocketAddr, TcpListener};

use super::{Behaviour, FakeServer};

/// An address of 127.0.0.1 on which nobody listens, and which no other test can get meanwhile.
pub struct Reserved(tokio::net::TcpSocket);

impl Reserved {
    /// Reserves a free port.
    pub fn new() -> Self {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        // A listener can be bound to the same address, which then stays reserved when the listener has gone. (The system
        // gives such a port to nobody who asks for any port, as long as this socket is there.)
        socket
            .set_reuseaddr(true)
            .expect("an address that can be shared");
        socket
            .bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .expect("a port of 127.0.0.1");
        Self(socket)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("the socket's address")
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address())
    }

    /// Starts to listen there.
    pub fn start(self, behaviour: Behaviour) -> FakeServer {
        // The standard library's listeners share addresses on Unix.
        let listener = TcpListener::bind(self.address()).expect("a listener");
        FakeServer::start_listening(behaviour, listener, self)
    }
}
