//! Names that lose addresses: connections to them are retired.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use warmwire_net::AddressUse;
use warmwire_pool::CloseReason;

use crate::core::{ConnectionLease, Core};

/// A look-up that nobody waits for is given up then: the next one is due, and they must not pile up.
const LONGEST_REFRESH: Duration = Duration::from_secs(30);

/// Looks the name behind a connection that is used up again if it is time to.
pub(crate) fn note_use(lease: &ConnectionLease, now: Instant) {
    let names = &lease.pooled().hooks.connector.names;
    let established = lease.established();
    if established.address.as_ref().is_some_and(|address| names.is_due(address, now)) {
        let (core, established) = (Arc::downgrade(lease.pooled()), established.clone());
        tokio::spawn(async move {
            let Some(core) = core.upgrade() else { return };
            if let Some(address) = &established.address {
                let refreshed = core.hooks.connector.names.refresh(address);
                tokio::select! {
                    () = refreshed => retire_lost(&core),
                    () = core.hooks.shutdown.cancelled() => {}
                    () = tokio::time::sleep(LONGEST_REFRESH) => {}
                }
            }
        });
    }
}

/// Retires connections to addresses that their names no longer have: idle ones at once, the others
/// after their exchange.
pub(crate) fn retire_lost(core: &Core) {
    if core.hooks.connector.names.take_lost() {
        core.with(|pool, now, actions| {
            pool.evict(CloseReason::AddressGone, now, actions, |_, view| {
                let established = view.connection.established.as_ref();
                let address = established.and_then(|of| of.address.as_ref());
                address.is_some_and(AddressUse::is_gone)
            })
        });
    }
}
