//! The gate with one core.

use super::Work;
use super::{Kind, Server, Setup};
use crate::address::free_address;
use crate::error::Result;
use std::net::SocketAddr;
use std::process::Command;

/// Starts the gate for one kind of work; `None` where another policy does the same
/// work.
///
/// # Errors
/// It does not start.
pub fn start(kind: Kind, work: Work, setup: &Setup) -> Result<Option<Server>> {
    let policy = match (kind, work) {
        (Kind::Off | Kind::TwoCores, Work::Refused) => return Ok(None),
        (_, Work::Refused) => "static",
        (Kind::Off, _) => "off",
        _ => "tide",
    };
    let (tls, admin) = (free_address()?, free_address()?);
    let clear = (work == Work::KeepAliveClear).then(free_address).transpose()?;
    let target = clear.unwrap_or(tls);
    let route = match work {
        Work::StaticTls => {
            let directory = setup.files()?.display().to_string();
            format!("[[routes]]\npath = \"/\"\ndirectory = {directory:?}\n")
        }
        _ => String::new(),
    };
    let clear = clear.map(|clear| format!("clear = \"{clear}\"\n")).unwrap_or_default();
    let file = setup
        .write("tidegate.toml", &(configuration(policy, setup, (tls, &clear), admin) + &route))?;
    let mut command = Command::new(&setup.program);
    command.arg("gate").arg("--config").arg(&file);
    let process = setup.launch("gate", command)?.start_listening(&[target, admin])?;
    Ok(Some(Server { process, target, metrics: Some(admin) }))
}

/// The defaults, with four differences: the peers set no cookies and have no waiting room, sixteen sessions reconnect thousands of times a
/// second over many connections, which their rate and number must allow, and the upstream shares its process with
/// the driver, so that its CPU time must not be read.
fn configuration(
    policy: &str,
    setup: &Setup,
    (tls, clear): (SocketAddr, &str),
    admin: SocketAddr,
) -> String {
    let (cores, upstream) = (setup.cores.list(), setup.upstream);
    let (chain, key) = (setup.certificate.chain.display(), setup.certificate.key.display());
    let refusal = if policy == "static" { "rate = 0.01\nhold_time = \"0s\"\n" } else { "" };
    format!(
        "[listen]
address = \"{tls}\"
{clear}cores = {cores:?}
[tls]
certificate = \"{chain}\"
key = \"{key}\"
[upstream]
url = \"http://{upstream}\"
processes = \"none\"
[admission]
policy = \"{policy}\"
refuse = \"reset\"
{refusal}session_cookie = \"off\"
session_rate = 100000.0
session_burst = 1000000
session_connections = 1000000
[limits]
idle_deadline = \"60s\"
[admin]
address = \"{admin}\"
[log]
level = \"warn\"
"
    )
}
