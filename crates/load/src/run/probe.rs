//! Probes the target before a run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::client::addresses::Addresses;
use crate::client::connection::{ConnectError, Connector};
use crate::client::connections::{Close, Http, Sources};
use crate::client::target::Target;
use crate::client::tls::config::ClientTls;
use crate::client::tls::tickets::Tickets;
use crate::error::Error;
use crate::outcome::{Failure, Stage};

/// Time within which the target must be reached.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// Time to wait for a server that requests a client certificate to reject it. A server that
/// accepts it sends a ticket at once.
const REJECTION: Duration = Duration::from_millis(500);

/// Time for each further address, once one has been reached.
const FURTHER: Duration = Duration::from_secs(1);

/// Connects to every address of the target. Returns those that accept connections, at least
/// one, and those that do not, with the reasons. A refusal in the handshake, or a handshake
/// that takes too long, does not fail the probe: the run counts it.
///
/// # Errors
/// No address can be reached, or TLS or HTTP with the target is not possible.
pub(super) fn probe(
    http: Http,
    target: &Target,
    tls: Option<&ClientTls>,
    addresses: &[SocketAddr],
) -> Result<Probed, Error> {
    let runtime = runtime()?;
    let (mut reached, mut unreachable) = (Vec::new(), Vec::new());
    for address in addresses {
        let within = if reached.is_empty() { TIMEOUT } else { FURTHER };
        match runtime.block_on(probe_one(http, target, tls, *address, within))? {
            Ok(()) => reached.push(*address),
            Err(why) => unreachable.push((*address, why)),
        }
    }
    if reached.is_empty() {
        let reasons: Vec<String> =
            unreachable.iter().map(|(address, why)| format!("{address}: {why}")).collect();
        let (target, reason) = (target.text.clone(), reasons.join(", "));
        return Err(Error::Unreachable { target, reason });
    }
    Ok(Probed { reached, unreachable })
}

/// The addresses of the target.
pub(super) struct Probed {
    /// Those that accept connections.
    pub(super) reached: Vec<SocketAddr>,
    /// The others, with the reasons.
    pub(super) unreachable: Vec<(SocketAddr, String)>,
}

/// Connects to one address. The inner error says why it cannot be reached.
async fn probe_one(
    http: Http,
    target: &Target,
    tls: Option<&ClientTls>,
    address: SocketAddr,
    within: Duration,
) -> Result<Result<(), String>, Error> {
    let certificate_requested = || tls.is_some_and(ClientTls::certificate_requested);
    let tls_error = |reason: String| Error::Tls {
        target: target.text.clone(),
        remedy: remedy(&reason, certificate_requested()),
        reason,
    };
    let no_http = |reason: String| match certificate_requested() && reason.contains("alert") {
        true => tls_error(reason),
        false => Error::Http { target: target.text.clone(), reason },
    };
    let only = Addresses::new(&[address], &Sources::System, 0);
    let connector = Connector::new(only, tls.cloned(), http, 0);
    let tickets = Arc::new(Tickets::own());
    let stage = std::cell::Cell::new(Stage::Connect);
    let connecting = connector.connect(&tickets, &stage, |_| ());
    let mut connection = match tokio::time::timeout(within, connecting).await {
        Ok(Ok((connection, _))) => connection,
        Ok(Err(ConnectError::Refused(_))) => return Ok(Ok(())),
        Ok(Err(ConnectError::Failed(Failure::Tls, reason))) => return Err(tls_error(reason)),
        Ok(Err(ConnectError::Failed(Failure::Http, reason))) => return Err(no_http(reason)),
        Ok(Err(ConnectError::Failed(_, reason))) => return Ok(Err(reason)),
        Err(_) if stage.get() == Stage::Connect => {
            return Ok(Err(format!("no answer within {} s", within.as_secs())));
        }
        Err(_) => return Ok(Ok(())),
    };
    if certificate_requested() {
        let until = tokio::time::Instant::now() + REJECTION;
        if let Some(why) = connection.rejection(until).await {
            return Err(tls_error(why));
        }
    }
    // Over TLS the server has confirmed the version by ALPN.
    if !target.tls || certificate_requested() {
        let check = tokio::time::timeout(TIMEOUT, connection.check()).await;
        let silent = |_| Err(format!("no answer within {} s", TIMEOUT.as_secs()));
        check.unwrap_or_else(silent).map_err(no_http)?;
    }
    connection.finish(Close::Shutdown);
    Ok(Ok(()))
}

/// Obtains the ticket that all handshakes use, within a time limit.
///
/// # Errors
/// The server issues no ticket.
pub(super) fn get_one_ticket(
    tls: &mut ClientTls,
    target: &Target,
    address: SocketAddr,
    within: Duration,
) -> Result<(), Error> {
    let got = runtime()?.block_on(async {
        tokio::time::timeout(within, tls.get_one_ticket(address)).await.unwrap_or_else(|_| {
            let seconds = within.as_secs_f64();
            let none = format!("the server issued no TLS 1.3 ticket within {seconds} s");
            Err(std::io::Error::other(none))
        })
    });
    got.map_err(|error| Error::Tls {
        target: target.text.clone(),
        reason: error.to_string(),
        remedy: "--tickets one needs a ticket before the run; choose other tickets with --tickets",
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::System { what: "a runtime", source })
}

pub(super) fn remedy(reason: &str, certificate_requested: bool) -> &'static str {
    if certificate_requested && reason.contains("alert") {
        "it requests a client certificate: give one that it accepts with --cert"
    } else if reason.contains("NoApplicationProtocol") {
        "it does not support the requested HTTP version: see --http"
    } else if reason.contains("CaUsedAsEndEntity") {
        "its certificate is that of an authority (CA:TRUE) and cannot be verified: accept it \
         with --insecure"
    } else if reason.contains("certificate") {
        "accept its certificate with --insecure, or name its authority with --ca"
    } else if reason.contains("corrupt message") {
        "it may not use TLS on this port: try http:// or another port"
    } else {
        "check which TLS versions, cipher suites and groups it supports"
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;
    use crate::client::tls::rules::TicketsOf;
    use crate::plan::Plan;
    use crate::scenario::Scenario;

    type Server = StreamOwned<ServerConnection, TcpStream>;

    /// The error for a TLS server that issues no ticket and runs `then` after the
    /// handshake.
    fn error_of(then: fn(&mut Server)) -> String {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        config.send_tls13_tickets = 0;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let connection = ServerConnection::new(Arc::new(config)).unwrap();
            let mut server = Server::new(connection, listener.accept().unwrap().0);
            server.conn.complete_io(&mut server.sock).unwrap();
            then(&mut server);
        });
        let page = "[session]\nsteps = [\"Page\"]\n[pages]\nPage = { path = \"/\" }\n";
        let scenario = Scenario::from_toml(page, "page.toml").unwrap();
        let mut plan = Plan::new(scenario, &format!("https://{address}"));
        plan.insecure = true;
        plan.tickets = Some(TicketsOf::One);
        let target = Target::parse(&plan.target).unwrap();
        let mut tls = ClientTls::new(plan.tls_settings().unwrap(), &target).unwrap();
        let within = Duration::from_millis(1500);
        let error = get_one_ticket(&mut tls, &target, address, within).unwrap_err();
        server.join().unwrap();
        assert_eq!(error.exit_code(), 3);
        error.to_string()
    }

    #[test]
    fn a_server_without_tickets_is_reported_after_the_timeout_or_when_it_closes() {
        let text = error_of(|server| {
            // Until the client gives up.
            let _ = server.read(&mut [0]);
        });
        let expected = "the server issued no TLS 1.3 ticket within 1.5 s";
        assert!(text.contains(expected) && text.contains("with --tickets"), "{text}");
        let text = error_of(|server| {
            let _ = server.sock.shutdown(std::net::Shutdown::Both);
        });
        assert!(
            text.contains("the server closed the connection without issuing a ticket"),
            "{text}"
        );
    }
}
