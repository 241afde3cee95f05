//! Ctrl-C: the first ends the measurement, the second ends the program.

use std::task::{Context, Poll, Waker};

use tokio::sync::watch;

/// What a shell reports for a program that Ctrl-C has killed.
const KILLED: i32 = 130;

/// Tells whether the measurement is to end early.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Listens to Ctrl-C from now on.
    pub(crate) fn listen() -> Self {
        let (raise, interrupt) = watch::channel(false);
        let mut first = Box::pin(tokio::signal::ctrl_c());
        // The first poll is what listens, and the task may run only later.
        let pressed = match first.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(pressed) => Some(pressed),
            Poll::Pending => None,
        };
        tokio::spawn(async move {
            let pressed = match pressed {
                Some(pressed) => pressed,
                None => first.await,
            };
            // Where no signal can be listened to, Ctrl-C ends the program as usual.
            if pressed.is_ok() {
                raise.send_replace(true);
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(KILLED);
                }
            }
        });
        Self(interrupt)
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes when Ctrl-C is pressed, at once when it was.
    pub(crate) async fn raised(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|is_raised| *is_raised).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(test)]
    pub(crate) fn never() -> Self {
        Self::manual().0
    }

    #[cfg(test)]
    pub(crate) fn manual() -> (Self, watch::Sender<bool>) {
        let (raise, interrupt) = watch::channel(false);
        (Self(interrupt), raise)
    }
}
