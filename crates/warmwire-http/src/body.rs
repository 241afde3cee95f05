//! Bodies, of requests and of responses.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use futures_util::Stream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use sync_wrapper::SyncWrapper;

use crate::error::{Error, ErrorKind, Phase};
use crate::h2;
use crate::incoming::Incoming;
use crate::upgrade::Upgraded;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type BoxBody = Pin<Box<dyn HttpBody<Data = Bytes, Error = BoxError> + Send>>;

/// A body: of a request, where it is what the caller gives, or of a response, where it is read
/// from the connection as it comes.
///
/// A body that is bytes in memory can be sent again when a stale connection fails (see
/// [`Agent`](crate::Agent)); one that is a stream cannot, once its first piece was taken.
pub struct Body(Kind);

enum Kind {
    Empty,
    Full(Bytes),
    Stream(SyncWrapper<BoxBody>),
    Incoming(Box<Incoming>),
    Shared(Box<h2::Incoming>),
    /// Empty; there is a connection in place of a body.
    Upgraded(Box<Upgraded>),
}

/// Up to this length a body that is there at once is taken out of its wrapping before it is sent,
/// which makes it one that can be sent again.
const UNWRAP: u64 = 64 * 1024;

impl Body {
    /// No body.
    pub fn empty() -> Body {
        Body(Kind::Empty)
    }

    /// Any body of the `http-body` ecosystem; a `Body` stays as it is.
    ///
    /// What it fails with becomes the source of an error of kind [`ErrorKind::RequestBody`]; an
    /// [`Error`] stays as it is, so that a layer may wrap the body of a response.
    pub fn new<B>(body: B) -> Body
    where
        B: HttpBody + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut body = Some(body);
        if let Some(same) = (&mut body as &mut dyn Any).downcast_mut::<Option<Body>>() {
            return same.take().unwrap_or_default();
        }
        let Some(body) = body else { return Body::empty() };
        if body.is_end_stream() {
            return Body::empty();
        }
        let mut body = Box::pin(body);
        let mut first = None;
        if body.size_hint().exact().is_some_and(|length| length <= UNWRAP) {
            // A body in memory is ready at once; another one is polled again when it is sent.
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(frame) = body.as_mut().poll_frame(&mut cx) {
                match frame.map(unify) {
                    None => return Body::empty(),
                    Some(Ok(frame)) if body.is_end_stream() && frame.is_data() => {
                        return frame.into_data().unwrap_or_default().into();
                    }
                    other => first = other,
                }
            }
        }
        Body(Kind::Stream(SyncWrapper::new(Box::pin(Wrapped { first, inner: body }))))
    }

    /// The pieces of a stream; their number and length need not be known.
    pub fn from_stream<S, T, E>(stream: S) -> Body
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        T: Into<Bytes>,
        E: Into<BoxError>,
    {
        Body(Kind::Stream(SyncWrapper::new(Box::pin(FromStream(Box::pin(stream))))))
    }

    /// The whole body if it is in memory: the empty body or one piece.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Empty | Kind::Upgraded(_) => Some(&[]),
            Kind::Full(bytes) => Some(bytes),
            Kind::Stream(_) | Kind::Incoming(_) | Kind::Shared(_) => None,
        }
    }

    /// A second one of the same content, if it is in memory. Copies nothing.
    pub fn try_clone(&self) -> Option<Body> {
        match &self.0 {
            Kind::Empty | Kind::Upgraded(_) => Some(Body(Kind::Empty)),
            Kind::Full(bytes) => Some(Body(Kind::Full(bytes.clone()))),
            Kind::Stream(_) | Kind::Incoming(_) | Kind::Shared(_) => None,
        }
    }

    /// The connection, if this is the body of a response by which the server has switched to another
    /// protocol; as [`Response::upgrade`](crate::Response::upgrade), for responses of the crate
    /// `http`.
    pub fn upgrade(self) -> Option<Upgraded> {
        match self.0 {
            Kind::Upgraded(upgraded) => Some(*upgraded),
            _ => None,
        }
    }

    pub(crate) fn upgraded(upgraded: Upgraded) -> Body {
        Body(Kind::Upgraded(Box::new(upgraded)))
    }

    pub(crate) fn incoming(incoming: Incoming) -> Body {
        Body(Kind::Incoming(Box::new(incoming)))
    }

    pub(crate) fn shared(incoming: h2::Incoming) -> Body {
        Body(Kind::Shared(Box::new(incoming)))
    }

    /// The next piece of data; trailers are passed over.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Error>> {
        loop {
            let frame = ready!(Pin::new(&mut *self).poll_frame(cx)).transpose()?;
            match frame.map(Frame::into_data) {
                None => return Poll::Ready(Ok(None)),
                Some(Ok(data)) => return Poll::Ready(Ok(Some(data))),
                Some(Err(_trailers)) => {}
            }
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.0 {
            Kind::Empty | Kind::Upgraded(_) => Poll::Ready(None),
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Kind::Stream(body) => body.get_mut().as_mut().poll_frame(cx).map_err(explain),
            Kind::Incoming(incoming) => incoming.poll_frame(cx),
            Kind::Shared(incoming) => incoming.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty | Kind::Upgraded(_) => true,
            Kind::Full(_) | Kind::Stream(_) => false,
            Kind::Incoming(incoming) => incoming.is_end(),
            Kind::Shared(incoming) => incoming.is_end(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty | Kind::Upgraded(_) => SizeHint::with_exact(0),
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
            Kind::Incoming(incoming) => incoming.size_hint(),
            Kind::Shared(incoming) => incoming.size_hint(),
        }
    }
}

fn explain(error: BoxError) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => *error,
        Err(error) => {
            Error::new(ErrorKind::RequestBody, Phase::Send, format!("the body failed: {error}"))
                .with_source(error)
        }
    }
}

impl Body {
    /// The length to declare, where the body knows it.
    pub(crate) fn exact_length(&mut self) -> Option<u64> {
        match &mut self.0 {
            Kind::Empty | Kind::Upgraded(_) => Some(0),
            Kind::Full(bytes) => Some(bytes.len() as u64),
            Kind::Stream(body) => body.get_mut().size_hint().exact(),
            Kind::Incoming(incoming) => incoming.size_hint().exact(),
            Kind::Shared(incoming) => incoming.size_hint().exact(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.0, Kind::Empty | Kind::Upgraded(_))
    }
}

impl Default for Body {
    fn default() -> Self {
        Body::empty()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("Body(empty)"),
            Kind::Full(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Kind::Stream(_) => f.write_str("Body(stream)"),
            Kind::Incoming(_) | Kind::Shared(_) => f.write_str("Body(incoming)"),
            Kind::Upgraded(_) => f.write_str("Body(upgraded)"),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Body::empty() } else { Body(Kind::Full(bytes)) }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::from_static(bytes).into()
    }
}

impl From<()> for Body {
    fn from((): ()) -> Self {
        Body::empty()
    }
}

/// A body of another type, with a frame that was read ahead.
struct Wrapped<B> {
    first: Option<Result<Frame<Bytes>, BoxError>>,
    inner: Pin<Box<B>>,
}

impl<B> HttpBody for Wrapped<B>
where
    B: HttpBody,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        self.inner.as_mut().poll_frame(cx).map(|frame| frame.map(unify))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let read_ahead = match &self.first {
            Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
            _ => 0,
        };
        match self.inner.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(read_ahead + rest),
            None => SizeHint::default(),
        }
    }
}

fn unify<D: Buf, E: Into<BoxError>>(frame: Result<Frame<D>, E>) -> Result<Frame<Bytes>, BoxError> {
    match frame {
        Ok(frame) => Ok(frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))),
        Err(error) => Err(error.into()),
    }
}

struct FromStream<S>(Pin<Box<S>>);

impl<S, T, E> HttpBody for FromStream<S>
where
    S: Stream<Item = Result<T, E>>,
    T: Into<Bytes>,
    E: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.as_mut().poll_next(cx).map(|next| {
            next.map(|piece| piece.map(|data| Frame::data(data.into())).map_err(Into::into))
        })
    }
}
