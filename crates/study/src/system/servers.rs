//! Servers that are not ours, in a run: Tomcat and Node. Behind a gate they speak plain HTTP,
//! without one their own TLS.

use std::path::Path;

use tidegate_host::Cores;
use tidegate_lab::Key;
use tidegate_lab::services::{Node, NodeSetup, Services, Tomcat, TomcatSetup};

use crate::Result;
use crate::experiment::Settings;

/// The path that Tomcat's auction answers once it is ready.
const READY: &str = "/healthz";

/// Starts Tomcat with the auction application.
pub(super) fn tomcat(settings: &Settings, cores: &Cores, folder: &Path) -> Result<Tomcat> {
    let war = Services::find()?.war("auction")?;
    let setup = TomcatSetup { key: key(settings), ..TomcatSetup::new(cores, &war, READY) };
    Tomcat::start(&setup, &folder.join("tomcat"))
}

/// Starts the shop on Node.
pub(super) fn node(settings: &Settings, cores: &Cores, folder: &Path) -> Result<Node> {
    let setup = NodeSetup { key: key(settings), ..NodeSetup::new(cores) };
    Node::start(&setup, &Services::find()?, &folder.join("node"))
}

/// The key of the server's own certificate.
fn key(settings: &Settings) -> Key {
    if settings.certificate == "rsa-2048" { Key::Rsa2048 } else { Key::P256 }
}
