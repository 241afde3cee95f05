//! An address at which connecting never ends.

use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A listening socket whose backlog is full: the kernel drops every further SYN.
pub struct BlackHole {
    address: SocketAddr,
    _listener: Socket,
    _fillers: Vec<Socket>,
}

impl Default for BlackHole {
    fn default() -> Self {
        BlackHole::new()
    }
}

impl BlackHole {
    /// A black hole on a port of 127.0.0.1.
    pub fn new() -> BlackHole {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        listener.bind(&any.into()).expect("a port is free");
        listener.listen(0).expect("a bound socket listens");
        let address = listener.local_addr().expect("it is bound").as_socket().expect("IPv4");
        // A backlog of 0 takes one connection; the others make sure of it on other kernels.
        let fillers = (0..4).map(|_| {
            let filler = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            filler.set_nonblocking(true).expect("a socket can be non-blocking");
            let _ = filler.connect(&address.into());
            filler
        });
        BlackHole { address, _fillers: fillers.collect(), _listener: listener }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
