//! A peer that does exactly what a test says.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use warmwire_amp::message::{Received, Request};
use warmwire_amp::{Frame, FrameReader};
use warmwire_rpc::Endpoint;
use warmwire_testkit::guarded;

/// Listens where nobody else does.
pub(crate) async fn listen() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let endpoint = Endpoint::from(listener.local_addr().expect("an address"));
    (listener, endpoint)
}

/// An address at which nobody listens.
pub(crate) async fn nobody() -> Endpoint {
    listen().await.1
}

/// One end of a connection that is driven by hand.
pub(crate) struct Script {
    pub(crate) stream: TcpStream,
    input: BytesMut,
    reader: FrameReader,
}

impl Script {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, input: BytesMut::new(), reader: FrameReader::new(1 << 26) }
    }

    pub(crate) async fn accept(listener: &TcpListener) -> Self {
        Self::new(guarded("a connection", listener.accept()).await.expect("accepts").0)
    }

    pub(crate) async fn connect(endpoint: &Endpoint) -> Self {
        let Endpoint::Tcp { host, port } = endpoint else { panic!("TCP") };
        Self::new(TcpStream::connect((host.as_str(), *port)).await.expect("connects"))
    }

    /// The next frame; `None` once the other end has closed.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        guarded("a frame", async {
            loop {
                if let Some(frame) = self.reader.next(&mut self.input).expect("a frame") {
                    return Some(frame);
                }
                // A reset is an end, too.
                if self.stream.read_buf(&mut self.input).await.unwrap_or(0) == 0 {
                    return None;
                }
            }
        })
        .await
    }

    pub(crate) async fn request(&mut self) -> Received<Request> {
        Request::read(self.frame().await.expect("a request")).expect("a request")
    }

    /// The id and the method of the next call.
    pub(crate) async fn call(&mut self) -> (Vec<u8>, String) {
        let received = self.request().await;
        match received.message {
            Request::Call(call) => (received.id.to_vec(), call.method),
            other => panic!("a call, not {other:?}"),
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("writes");
    }

    /// Sends a frame of these arguments.
    pub(crate) async fn send(&mut self, arguments: &[&[u8]]) {
        self.write(&frame(arguments)).await;
    }

    /// Waits until the other end has closed.
    pub(crate) async fn ended(&mut self) {
        while self.frame().await.is_some() {}
    }
}

/// The bytes of a frame.
pub(crate) fn frame(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![0x10 | u8::try_from(arguments.len()).expect("few")];
    for argument in arguments {
        bytes.extend_from_slice(&u32::try_from(argument.len()).expect("short").to_be_bytes());
        bytes.extend_from_slice(argument);
    }
    bytes
}
