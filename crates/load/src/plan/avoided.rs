//! Addresses that customers avoid for a time.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

/// Addresses of the target to which customers open no connection at present, as where a name server
/// does not name them any more; connections that are open stay. Clones share the state, so that it
/// can be changed while a run goes on. Where all addresses are avoided, none is.
#[derive(Clone, Debug, Default)]
pub struct Avoided(Arc<RwLock<Vec<SocketAddr>>>);

impl Avoided {
    /// These are avoided from now on, and no others.
    pub fn set(&self, addresses: Vec<SocketAddr>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = addresses;
    }

    pub(crate) fn contains(&self, address: SocketAddr) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&address)
    }
}
