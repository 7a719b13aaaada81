//! Third-party servers: Tomcat with web applications, and Node, which are built from the folder
//! `services` of the repository; PostgreSQL and NATS.

mod files;
mod gc_log;
mod messages_client;
mod nats;
mod node;
mod postgresql;
mod ready;
mod server_xml;
mod tls_versions;
mod tomcat;

pub use files::Services;
pub use gc_log::GcPauses;
pub use messages_client::{MessagesKeys, messages_client};
pub use nats::Nats;
pub use node::{Node, NodeSetup};
pub use postgresql::Postgresql;
pub use server_xml::App;
pub use tidegate_load::TlsVersions;
pub use tomcat::{Tomcat, TomcatSetup};

/// What a missing program or file is answered with.
const REMEDY: &str = "scripts/bootstrap study installs what the studies need, scripts/services \
                      builds the servers, and make study does both";
