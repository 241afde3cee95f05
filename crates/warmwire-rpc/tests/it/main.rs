//! The RPC over real sockets, as its users and its peers see it.

mod calls;
mod chaos;
mod closing;
mod ends;
mod faults;
mod hostile;
mod queue;
mod reconnect;
mod scripted;
mod sides;
mod sockets;
mod tls;
mod unix;
