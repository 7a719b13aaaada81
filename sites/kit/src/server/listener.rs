//! Listeners that share one address.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::{Error, Result};

/// Backlog of each listener.
const BACKLOG: i32 = 4096;

/// Opens `count` listeners on one address (port 0: one free port for all).
///
/// # Errors
/// The address is in use, not of this machine, or needs more privileges.
pub(super) fn listen(address: SocketAddr, count: usize) -> Result<Vec<TcpListener>> {
    let explain = |error: io::Error| {
        Error::Operator(match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "listen {address}: the port is in use; stop what uses it or choose another (--listen {}:0 takes a free one)",
                address.ip()
            ),
            io::ErrorKind::PermissionDenied => {
                format!("listen {address}: not permitted; choose a port of 1024 or above")
            }
            io::ErrorKind::AddrNotAvailable => {
                format!(
                    "listen {address}: this machine has no such address; try 127.0.0.1 or 0.0.0.0"
                )
            }
            _ => format!("listen {address}: {error}"),
        })
    };
    // The first socket is bound without SO_REUSEPORT: otherwise a second site on
    // the same port would start without an error and take half of the connections.
    let first = bind(address, false).map_err(explain)?;
    if count == 1 {
        first.listen(BACKLOG).map_err(explain)?;
        return Ok(vec![first.into()]);
    }
    let address = first.local_addr().ok().and_then(|bound| bound.as_socket()).unwrap_or(address);
    drop(first);
    (0..count)
        .map(|_| {
            let socket = bind(address, true).map_err(explain)?;
            socket.listen(BACKLOG).map_err(explain)?;
            Ok(socket.into())
        })
        .collect()
}

fn bind(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_refused_with_one_core_and_with_several() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let taken = listen(any, 2).unwrap();
        let address = taken[0].local_addr().unwrap();
        assert_eq!(taken[1].local_addr().unwrap(), address);
        for count in [1, 2] {
            let error = listen(address, count).unwrap_err().to_string();
            assert!(error.contains("the port is in use"), "{error}");
        }
    }
}
