//! The gate's configuration: read from a file, from flags or both, checked as a
//! whole, with every mistake reported at once. Nothing downstream validates.
//!
//! The keys are declared in `fields.rs`, once.

mod certificates;
mod checked;
mod choices;
mod fields;
pub mod file_stamp;
mod files;
mod flags;
mod fleet;
mod identity;
mod load;
mod load_from;
mod networks;
mod origin;
mod pools;
mod reference;
mod reload;
mod revocation;
mod route_rules;
mod routes;
mod rules;
pub mod selfsigned;
pub mod ticket_keys;
mod together;
mod upstream_rules;

pub use certificates::CertificateFiles;
pub use checked::Config;
pub use choices::{
    AccessFormat, ClientAuth, Cores, Forwarded, Host, LogFormat, MinimumVersion, Policy, Priority,
    Processes, Refusal, SessionCookie, WebSocket,
};
pub use fields::{
    AccessLog, Admin, Admission, Fleet, Limits, Listen, Log, StaticTier, Tls, Trace, Upstream,
    tables,
};
pub use files::{Files, mistake_of_file};
pub use flags::Flags;
pub use identity::Identity;
pub use load_from::{LoadFrom, LoadSource};
pub use networks::Network;
pub use origin::{Members, Origin};
pub use pools::{NamedPool, Pool};
pub use reference::reference;
pub use revocation::Revocations;
pub use route_rules::RouteRules;
pub use routes::{Destination, Directory, Route};
pub use tidegate_config::{Mistake, Mistakes};
