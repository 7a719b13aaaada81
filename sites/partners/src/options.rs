//! Options of the partners.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::behaviour::Behaviour;
use crate::protocol::Role;

/// Options of the partners. `Default` is three that answer everything, on this machine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Folder of the SQLite file, and of certificates that are made.
    pub data: PathBuf,
    /// Folder of the certificates; without one, [`Options::CERTIFICATES`] in `data`, where they
    /// are made and renewed.
    pub certificates: Option<PathBuf>,
    /// How purchase orders are validated.
    pub validation: Behaviour,
    /// How goods are supplied.
    pub inventory: Behaviour,
    /// How notice is taken of shipments.
    pub shipment: Behaviour,
    /// Processors to run on, one thread pinned to each; `None`: all that are allowed.
    pub cores: Option<Vec<usize>>,
}

impl Options {
    /// Name of the folder of certificates that are made.
    pub const CERTIFICATES: &str = "certificates";

    pub(crate) fn certificates(&self) -> PathBuf {
        self.certificates.clone().unwrap_or_else(|| self.data.join(Self::CERTIFICATES))
    }

    pub(crate) fn behaviour(&self, role: Role) -> Behaviour {
        match role {
            Role::Validation => self.validation,
            Role::Inventory => self.inventory,
            Role::Shipment => self.shipment,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9100)),
            data: PathBuf::from("data/partners"),
            certificates: None,
            validation: Behaviour::default(),
            inventory: Behaviour::default(),
            shipment: Behaviour::default(),
            cores: None,
        }
    }
}
