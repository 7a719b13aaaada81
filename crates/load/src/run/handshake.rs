//! One handshake alone: what a target agrees on with the customers of a plan.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};

use rustls::ClientConnection;
use rustls::client::Resumption;

use super::probe::TIMEOUT;
use crate::client::resolve::resolve;
use crate::client::target::Target;
use crate::client::tls::algorithms::Agreed;
use crate::client::tls::config::ClientTls;
use crate::client::tls::server_key::ServerKey;
use crate::error::Error;
use crate::plan::Plan;

/// What a full handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// Cipher suite, by IANA's name.
    pub suite: &'static str,
    /// Key exchange group, by IANA's name.
    pub group: Option<&'static str>,
    /// Key of the server's certificate.
    pub key: ServerKey,
    /// Certificates that the server sent.
    pub certificates: usize,
    /// The server asked for a client certificate.
    pub mutual: bool,
}

/// Makes one full handshake with the first address of the target, and closes the connection.
///
/// # Errors
/// [`Error::Tls`]: the target does not accept what the plan offers, or its certificate is not
/// trusted; else the target is wrong or cannot be reached.
pub fn handshake(plan: &Plan) -> Result<Handshake, Error> {
    let target = Target::parse(&plan.target)?;
    let addresses = resolve(&target, &plan.resolve)?;
    let mut first = None;
    for address in &addresses {
        match TcpStream::connect_timeout(address, TIMEOUT) {
            Ok(stream) => return over(plan, &target, stream),
            Err(error) => first = first.or(Some((*address, error))),
        }
    }
    let reason = first.map(|(address, error): (SocketAddr, _)| format!("{address}: {error}"));
    Err(Error::Unreachable { target: target.text, reason: reason.unwrap_or_default() })
}

fn over(plan: &Plan, target: &Target, mut stream: TcpStream) -> Result<Handshake, Error> {
    let failed = |reason: String| Error::Tls {
        target: target.text.clone(),
        remedy: super::probe::remedy(&reason, false),
        reason,
    };
    let tls = ClientTls::new(plan.tls_settings()?, target)?;
    let mut config = (*tls.config()).clone();
    config.resumption = Resumption::disabled();
    let of_tls = |error: rustls::Error| failed(error.to_string());
    let mut connection = ClientConnection::new(config.into(), tls.name.clone()).map_err(of_tls)?;
    let of_system = |source| Error::System { what: "a time limit", source };
    stream.set_read_timeout(Some(TIMEOUT)).map_err(of_system)?;
    stream.set_write_timeout(Some(TIMEOUT)).map_err(of_system)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                failed(format!("no answer within {} s", TIMEOUT.as_secs()))
            }
            _ => failed(error.to_string()),
        })?;
    }
    let agreed = Agreed::of(&connection);
    let certificates = connection.peer_certificates().unwrap_or_default();
    let key = certificates.first().map(ServerKey::of);
    let certificates = certificates.len();
    connection.send_close_notify();
    // The handshake is over, whatever becomes of the connection.
    let _ = connection.complete_io(&mut stream);
    Ok(Handshake {
        version: agreed.version(),
        suite: agreed.suite(),
        group: agreed.group(),
        key: key.unwrap_or(ServerKey { signs: None, bits: 0 }),
        certificates,
        mutual: tls.certificate_requested(),
    })
}
