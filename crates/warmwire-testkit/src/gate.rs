//! Where a script waits until its test says go.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Lets through as many as it was told to, in the order in which they came; whoever comes later
/// waits. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// A gate that lets nobody through yet.
    pub fn shut() -> Gate {
        Gate(Arc::new(Semaphore::new(0)))
    }

    /// Lets `n` more through.
    pub fn admit(&self, n: usize) {
        self.0.add_permits(n);
    }

    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.0.close();
    }

    /// Until let through.
    pub async fn pass(&self) {
        // An error says that the gate was opened for all.
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}
