//! Listening sockets of this host, TCP and unix, and the processes that hold them: the address leads
//! to the socket's inode, the inode to the descriptors that refer to it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::{Files, processes};

/// An address and port that clients on this host connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address; `None` for any of this host.
    pub address: Option<IpAddr>,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// Whether a listener at `local` accepts connections to this endpoint.
    fn is_served_by(&self, local: SocketAddr) -> bool {
        let bound = local.ip().to_canonical();
        let address = match self.address.map(|address| address.to_canonical()) {
            None => true,
            Some(wanted) if bound.is_unspecified() => {
                // A listener on :: accepts IPv4 as well, unless it is IPV6_V6ONLY.
                bound.is_ipv6() || wanted.is_ipv4()
            }
            Some(wanted) => bound == wanted,
        };
        address && local.port() == self.port
    }
}

/// Inodes of the sockets that listen for an endpoint.
pub fn listeners(files: &Files, endpoint: Endpoint) -> Vec<u64> {
    let listening = listening(files, endpoint);
    listening.map(|socket| socket.inode).filter(|inode| *inode != 0).collect()
}

/// Inodes of the unix sockets that listen at this path. Malformed lines are skipped.
///
/// Source: `proc_pid_net(5)`, `/proc/net/unix`; the flag `__SO_ACCEPTCON` marks a listener.
pub fn listeners_at(files: &Files, socket: &Path) -> Vec<u64> {
    let table = files.read("/proc/net/unix").unwrap_or_default();
    let listener = |line: &str| {
        // num refcount protocol flags type state inode path
        let mut columns = line.split_ascii_whitespace();
        let flags = u32::from_str_radix(columns.nth(3)?, 16).ok()?;
        let inode = columns.nth(2)?.parse().ok()?;
        // The path may have spaces.
        let path = &line[line.find(columns.next()?)?..];
        (flags & 0x1_0000 != 0 && Path::new(path) == socket).then_some(inode)
    };
    table.lines().skip(1).filter_map(listener).collect()
}

/// The lengths of the accept queues of the sockets that listen for an endpoint.
pub(crate) fn accept_queues(files: &Files, endpoint: Endpoint) -> impl Iterator<Item = u32> {
    listening(files, endpoint).map(|socket| socket.waiting)
}

/// A listening socket.
pub(crate) struct Listening {
    pub(crate) local: SocketAddr,
    /// Length of the accept queue.
    pub(crate) waiting: u32,
    inode: u64,
}

fn listening(files: &Files, endpoint: Endpoint) -> impl Iterator<Item = Listening> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| files.read(path));
    let parse = |table: String| parse_table(&table).collect::<Vec<_>>();
    let sockets = tables.into_iter().flatten().flat_map(parse);
    sockets.filter(move |socket| endpoint.is_served_by(socket.local))
}

/// Listening sockets in the text of `/proc/net/tcp` or `tcp6`.
/// Malformed lines are skipped. The kernel lists listening sockets first, so the beginning
/// of a long table suffices.
///
/// Not by procfs's `TcpNetEntries`: it decodes every connection into a list, and the line
/// that the cap on a read cuts short would lose the whole table.
///
/// Source: `proc_pid_net(5)`.
pub(crate) fn parse_table(text: &str) -> impl Iterator<Item = Listening> {
    text.lines().skip(1).filter_map(|line| {
        // sl local remote state queues timer retransmits uid timeout inode …
        let mut columns = line.split_whitespace().skip(1);
        let local = parse_address(columns.next()?)?;
        let state = columns.nth(1)?;
        let (_, waiting) = columns.next()?.split_once(':')?;
        let waiting = u32::from_str_radix(waiting, 16).ok()?;
        let inode = columns.nth(4)?.parse().ok()?;
        (state == "0A").then_some(Listening { local, waiting, inode })
    })
}

/// `0100007F:1F90`: words of the address as the kernel holds them (network
/// order read as host order), and the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = (port.len() == 4).then(|| u16::from_str_radix(port, 16).ok())??;
    if !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let word = |at: usize| {
        let word = address.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes)
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// Most processes that one search reads.
const PROCESSES: usize = 32_768;
/// Most descriptors that are read of a process: servers open their listeners first.
const DESCRIPTORS: usize = 512;

/// Processes other than `own` that hold one of the sockets open, ascending. Only root
/// sees those of other users.
pub fn holders(files: &Files, inodes: &[u64], own: u32) -> Vec<u32> {
    if inodes.is_empty() {
        return Vec::new();
    }
    let holds = |pid: &u32| {
        let folder = format!("/proc/{pid}/fd");
        let Ok(names) = files.names(&folder) else { return false };
        names.take(DESCRIPTORS).any(|name| {
            let link = files.link(format!("{folder}/{name}"));
            let inode = link.as_deref().and_then(|link| link.to_str()).and_then(socket_inode);
            inode.is_some_and(|inode| inodes.contains(&inode))
        })
    };
    let others = processes::all(files).filter(|pid| *pid != own);
    let mut found: Vec<u32> = others.take(PROCESSES).filter(holds).collect();
    found.sort_unstable();
    // With socket activation the service manager holds the socket too.
    if found.len() > 1 && found[0] == 1 {
        found.remove(0);
    }
    found
}

/// The inode in the target of a descriptor's link: `socket:[12345]`.
fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const TCP: &str = "  \
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1076 1 00000000f127503c 100 0 0 10 0
   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 283377 1 000000002a91aa50 100 0 0 10 0
   2: 0100007F:1F90 0100007F:D94E 01 00000000:00000000 00:00000000 00000000  1000        0 283399 3 00000000d6c8d44b
";
    const TCP6: &str = "  \
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:2328 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 0 100 0 0 10 0
   1: 00000000000000000000000001000000:2329 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 778 1 0 100 0 0 10 0
";

    #[cfg(target_endian = "little")]
    #[test]
    fn listening_sockets_are_read_and_others_are_not() {
        let pair = |socket: Listening| (socket.local, socket.inode);
        let four: Vec<_> = parse_table(TCP).map(pair).collect();
        let expected =
            [("0.0.0.0:2024".parse().unwrap(), 1076), ("127.0.0.1:8080".parse().unwrap(), 283_377)];
        assert_eq!(four, expected);
        let six: Vec<_> = parse_table(TCP6).map(pair).collect();
        let expected = [("[::]:9000".parse().unwrap(), 777), ("[::1]:9001".parse().unwrap(), 778)];
        assert_eq!(six, expected);
    }

    #[test]
    fn hostile_tables_yield_nothing() {
        for line in [
            "",
            "x",
            "0: 0100007F:1F90",
            "0: 0100007F:1F90 b 0A c d e f g -1",
            "0: +:+ b 0A",
            "0: +100007F:1F90 a 0A b c d e f 12",
            "0: 0100007F:99999 a 0A b c d e f 12",
            "0: é00007F:1F90 a 0A b c d e f 12",
        ] {
            assert_eq!(parse_table(&format!("head\n{line}\n")).count(), 0, "{line:?}");
        }
    }

    #[test]
    fn a_listener_serves_its_own_address_or_any() {
        let endpoint = Endpoint { address: Some("127.0.0.1".parse().unwrap()), port: 80 };
        let serves = |local: &str| endpoint.is_served_by(local.parse().unwrap());
        assert!(serves("127.0.0.1:80") && serves("0.0.0.0:80") && serves("[::]:80"));
        assert!(serves("[::ffff:127.0.0.1]:80"));
        let six = Endpoint { address: Some("::1".parse().unwrap()), port: 80 };
        assert!(!six.is_served_by("0.0.0.0:80".parse().unwrap()));
        assert!(!serves("127.0.0.2:80") && !serves("127.0.0.1:81") && !serves("[::1]:80"));
    }

    #[test]
    fn the_process_that_listens_is_found_in_the_running_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let files = Files::new("/");
        let endpoint = Endpoint { address: Some(address.ip()), port: address.port() };
        let inodes = listeners(&files, endpoint);
        assert_eq!(inodes.len(), 1);
        assert!(holders(&files, &inodes, 0).contains(&std::process::id()));
        assert!(!holders(&files, &inodes, std::process::id()).contains(&std::process::id()));
        drop(listener);
        assert!(listeners(&files, endpoint).is_empty());
    }

    #[test]
    fn the_process_that_listens_on_a_unix_socket_is_found_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a shop.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let _customer = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let _accepted = listener.accept().unwrap();
        let files = Files::new("/");
        let inodes = listeners_at(&files, &path);
        assert_eq!(inodes.len(), 1, "a connection has the same path and does not listen");
        assert!(holders(&files, &inodes, 0).contains(&std::process::id()));
        assert!(listeners_at(&files, &folder.path().join("a")).is_empty());
    }

    #[test]
    fn the_service_manager_that_holds_the_socket_too_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        for (pid, inode) in [(1, 50), (20, 50), (30, 51), (40, 50)] {
            let folder = root.path().join(format!("proc/{pid}/fd"));
            std::fs::create_dir_all(&folder).unwrap();
            std::os::unix::fs::symlink(format!("socket:[{inode}]"), folder.join("3")).unwrap();
        }
        let files = Files::new(root.path());
        assert_eq!(holders(&files, &[50], 40), [20]);
        assert_eq!(holders(&files, &[50], 0), [20, 40]);
        assert_eq!(holders(&files, &[51, 52], 0), [30]);
        assert!(holders(&files, &[], 0).is_empty());
    }
}
