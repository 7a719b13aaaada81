//! The state of TCP: accept queues, retransmissions and dropped connections.

use crate::{Files, sockets};

/// Counts of the whole network namespace since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments that were sent again.
    pub retransmitted: u64,
    /// Connections that were dropped because an accept queue was full.
    pub listen_overflows: u64,
}

/// Reads the counts; what the kernel does not report is 0.
///
/// Source: RFC 4022, `tcpRetransSegs`; kernel documentation, `networking/snmp_counter`,
/// `TcpExtListenOverflows`.
pub fn counts(files: &Files) -> TcpCounts {
    let snmp = files.read("/proc/net/snmp");
    TcpCounts {
        retransmitted: snmp.and_then(|text| value(&text, "Tcp:", "RetransSegs")).unwrap_or(0),
        listen_overflows: listen_overflows(files).unwrap_or(0),
    }
}

/// Connections that were dropped because an accept queue was full, of all sockets of this network
/// namespace since it exists; `None` if the kernel does not report it.
///
/// Source: kernel documentation, `networking/snmp_counter`, `TcpExtListenOverflows`.
pub fn listen_overflows(files: &Files) -> Option<u64> {
    value(&files.read("/proc/net/netstat")?, "TcpExt:", "ListenOverflows")
}

/// A value of a table whose first line has the names and whose second has the values.
fn value(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// Connections that the kernel holds ready to be accepted at a port, on all its listening
/// sockets; `None` if none listens there.
///
/// Source: `proc_pid_net(5)`; the receive queue of a listening socket is its accept queue.
pub fn accept_queue(files: &Files, port: u16) -> Option<u64> {
    // The second table is read only for a listener that is not in the first: where a table has no
    // connection, the kernel searches all of its places for one.
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|path| {
        let table = files.read_until(path, |table| table.lines().any(is_connected))?;
        waiting(&table, port)
    })
}

/// Whether a line of a table is of a socket that does not listen.
fn is_connected(line: &str) -> bool {
    let state = line.split_whitespace().nth(3);
    state.is_some_and(|state| state.len() == 2 && state != "0A" && state != "st")
}

/// The sum of a table.
fn waiting(table: &str, port: u16) -> Option<u64> {
    let here = sockets::parse_table(table).filter(|socket| socket.local.port() == port);
    here.map(|socket| u64::from(socket.waiting)).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr\n\
         0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000 0 0 7\n\
         1: 0100007F:1F90 00000000:0000 0A 00000000:00000011 00:00000000 00000000 0 0 7\n\
         2: 0100007F:1F91 00000000:0000 0A 00000000:00000001 00:00000000 00000000 0 0 7\n\
         3: 0100007F:1F90 0100007F:9999 01 00000000:00000009 00:00000000 00000000 0 0 7\n";

    #[test]
    fn the_accept_queues_of_a_port_are_added_up() {
        assert_eq!(waiting(TABLE, 8080), Some(3 + 0x11));
        assert_eq!(waiting(TABLE, 8081), Some(1));
        assert_eq!(waiting(TABLE, 9), None);
        assert_eq!(waiting("", 9), None);
    }

    #[test]
    fn counts_are_found_by_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/net")).unwrap();
        let write =
            |name: &str, text| std::fs::write(root.path().join("proc/net").join(name), text);
        write("snmp", "Ip: A B\nIp: 1 2\nTcp: A RetransSegs\nTcp: -1 42\n").unwrap();
        write("netstat", "TcpExt: ListenOverflows B\nTcpExt: 7 8\n").unwrap();
        let files = Files::new(root.path());
        assert_eq!(counts(&files), TcpCounts { retransmitted: 42, listen_overflows: 7 });
        assert_eq!(counts(&Files::new("/nowhere")), TcpCounts::default());
    }

    #[test]
    fn overflows_are_found_by_name_and_junk_is_none() {
        let overflows = |text: &str| value(text, "TcpExt:", "ListenOverflows");
        let text =
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 42 43\nIpExt: a\n";
        assert_eq!(overflows(text), Some(42));
        for junk in [
            "",
            "TcpExt: ListenOverflows\n",
            "TcpExt: a\nTcpExt: 1\n",
            "TcpExt: ListenOverflows\nTcpExt: x",
        ] {
            assert_eq!(overflows(junk), None, "{junk:?}");
        }
        assert!(listen_overflows(&Files::new("/")).is_some());
    }

    #[test]
    fn a_connection_that_nobody_accepts_is_in_the_queue() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let files = Files::new("/");
        assert_eq!(accept_queue(&files, address.port()), Some(0));
        let _waiting = std::net::TcpStream::connect(address).unwrap();
        assert_eq!(accept_queue(&files, address.port()), Some(1));
    }
}
