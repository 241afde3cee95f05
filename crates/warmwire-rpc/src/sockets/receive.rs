//! Messages that come.

use std::sync::{Arc, PoisonError};

use tokio::sync::mpsc;
use warmwire_amp::Value;
use warmwire_net::{Endpoint, EndpointError};

use super::SocketStats;
use super::builder::SocketBuilder;
use super::core::{Core, Message, topic};
use super::pattern::Pattern;
use crate::error::Error;

/// A `pull` socket of axon: receives what `push` sockets send.
#[derive(Debug)]
pub struct Pull {
    core: Arc<Core>,
    messages: mpsc::Receiver<Message>,
}

impl Pull {
    pub(super) fn new(mut core: Core) -> Self {
        let messages = core.receive(false);
        Self { core: Arc::new(core), messages }
    }

    /// A socket to be described.
    pub fn builder() -> SocketBuilder {
        SocketBuilder::default()
    }

    /// The arguments of the next message, of whichever peer.
    ///
    /// # Cancel safety
    ///
    /// No message is lost when the future is dropped.
    pub async fn recv(&mut self) -> Vec<Value> {
        match self.messages.recv().await {
            Some(message) => message.values,
            // The core holds a sender for as long as this socket lives.
            None => std::future::pending().await,
        }
    }
}

super::common!(Pull);

/// What a [`Sub`] receives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Publication {
    /// The topic.
    pub topic: String,
    /// What the stars of the pattern stand for that it matched first.
    pub captures: Vec<String>,
    /// The arguments behind the topic.
    pub arguments: Vec<Value>,
}

/// A `sub` socket of axon: receives what `pub` sockets send, as far as a pattern matches the topic.
/// Without any pattern it receives everything.
#[derive(Debug)]
pub struct Sub {
    core: Arc<Core>,
    messages: mpsc::Receiver<Message>,
}

impl Sub {
    pub(super) fn new(mut core: Core) -> Self {
        let messages = core.receive(true);
        Self { core: Arc::new(core), messages }
    }

    /// A socket to be described.
    pub fn builder() -> SocketBuilder {
        SocketBuilder::default()
    }

    /// Adds a pattern, in which `*` stands for one character or more. Holds for messages that have
    /// not been read yet, on connections that are there as on those to come.
    pub fn subscribe(&self, pattern: &str) {
        self.patterns(|patterns| patterns.push((pattern.to_owned(), Pattern::new(pattern))));
    }

    /// Takes a pattern away. Returns whether it was there.
    pub fn unsubscribe(&self, pattern: &str) -> bool {
        self.patterns(|patterns| {
            let before = patterns.len();
            patterns.retain(|(text, _)| text != pattern);
            patterns.len() < before
        })
    }

    fn patterns<T>(&self, change: impl FnOnce(&mut Vec<(String, Pattern)>) -> T) -> T {
        let patterns = self.core.incoming.as_ref().and_then(|incoming| incoming.patterns.as_ref());
        match patterns {
            Some(patterns) => change(&mut patterns.lock().unwrap_or_else(PoisonError::into_inner)),
            None => change(&mut Vec::new()),
        }
    }

    /// The next message whose topic matches, of whichever peer.
    ///
    /// # Cancel safety
    ///
    /// No message is lost when the future is dropped.
    pub async fn recv(&mut self) -> Publication {
        let Some(message) = self.messages.recv().await else {
            // The core holds a sender for as long as this socket lives.
            return std::future::pending().await;
        };
        let mut values = message.values.into_iter();
        let topic = values.next().as_ref().map(topic).unwrap_or_default();
        Publication { topic, captures: message.captures, arguments: values.collect() }
    }
}

super::common!(Sub);
