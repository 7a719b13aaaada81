//! Hosts on this machine: network namespaces that a bridge joins. Processes run in them, and links
//! between them are cut and healed.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Fault, Result};

/// The networks that there may be at a time: 198.18.0.0/24 to 198.18.255.0/24, of the range for
/// tests of networks. Source: RFC 2544, appendix C.2.2.
const NETWORKS: u16 = 256;
/// The most hosts of a network.
const MOST_HOSTS: usize = 100;
/// A hardware address that no host has: what is sent to it is lost without a word, as on a cable
/// that was cut.
const NOBODY: &str = "02:00:00:00:00:00";

/// Hosts that reach each other and this machine. Everything is removed when this is dropped: the
/// processes in its hosts are killed first.
#[derive(Debug)]
pub struct Network {
    /// Which of [`NETWORKS`]: the bridge's name has it, so that the kernel gives it once.
    number: u16,
    hosts: Vec<String>,
}

impl Network {
    /// Makes hosts with these names, at most 100. It removes networks of processes that were killed.
    ///
    /// # Errors
    /// [`Error::Machine`]: this process may not make a namespace, or `ip` is missing.
    pub fn make(hosts: &[&str]) -> Result<Self> {
        if hosts.len() > MOST_HOSTS {
            return Err(Error::Internal(format!("a network has at most {MOST_HOSTS} hosts")));
        }
        let mut network = Self { number: claim()?, hosts: Vec::new() };
        let bridge = network.bridge();
        ip(&["link", "set", &bridge, "alias", &std::process::id().to_string()])?;
        ip(&["addr", "add", &format!("{}/24", network.here()), "dev", &bridge])?;
        ip(&["link", "set", &bridge, "up"])?;
        for host in hosts {
            // Before the first step, so that what was made is removed if the next one fails.
            network.hosts.push((*host).to_owned());
            let (name, near) = (network.namespace(host), network.near(host)?);
            let address = format!("{}/24", network.address(host)?);
            ip(&["netns", "add", &name])?;
            ip(&["link", "add", &near, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
            ip(&["link", "set", &near, "master", &bridge, "up"])?;
            ip(&["-n", &name, "addr", "add", &address, "dev", "eth0"])?;
            ip(&["-n", &name, "link", "set", "eth0", "up"])?;
            ip(&["-n", &name, "link", "set", "lo", "up"])?;
        }
        Ok(network)
    }

    /// For tests: the same, and `None`, said aloud, where this process may not.
    pub fn unless_refused(hosts: &[&str]) -> Option<Self> {
        let made = Self::make(hosts);
        made.inspect_err(|error| eprintln!("SKIPPED: it needs hosts of its own: {error}")).ok()
    }

    /// The address of a host.
    ///
    /// # Errors
    /// [`Error::Internal`]: no host is called so.
    pub fn address(&self, host: &str) -> Result<Ipv4Addr> {
        let third = self.number as u8;
        self.place(host).map(|place| Ipv4Addr::new(198, 18, third, 2 + place as u8))
    }

    /// A port of a host.
    ///
    /// # Errors
    /// As [`Self::address`].
    pub fn socket(&self, host: &str, port: u16) -> Result<SocketAddr> {
        Ok((self.address(host)?, port).into())
    }

    /// The address of this machine, as the hosts see it.
    pub fn here(&self) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.number as u8, 1)
    }

    /// A command that runs on a host.
    ///
    /// # Errors
    /// No host is called so, or its namespace is gone.
    pub fn command(&self, host: &str, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let mut command = Command::new(program);
        self.enter(host, &mut command)?;
        Ok(command)
    }

    /// Lets a command run on a host.
    ///
    /// # Errors
    /// As [`Self::command`].
    pub(crate) fn enter(&self, host: &str, command: &mut Command) -> Result<()> {
        self.place(host)?;
        let path = Path::new("/run/netns").join(self.namespace(host));
        let namespace = File::open(&path).of_machine(path.display())?;
        // SAFETY: between fork and exec the closure makes one system call, with a descriptor that
        // it owns.
        unsafe {
            command.pre_exec(move || {
                match libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        Ok(())
    }

    /// Cuts every link between hosts of one group and of another, in both directions. Packets are
    /// lost; no end learns of it.
    ///
    /// # Errors
    /// No host is called so, or the kernel refuses it.
    pub fn cut(&self, one: &[impl AsRef<str>], other: &[impl AsRef<str>]) -> Result<()> {
        self.between(one, other, |namespace, address| {
            let fixed = ["dev", "eth0", "lladdr", NOBODY, "nud", "permanent"];
            ip(&[&["-n", namespace, "neigh", "replace", address][..], &fixed].concat())
        })
    }

    /// Mends what [`Self::cut`] cut.
    ///
    /// # Errors
    /// No host is called so, or the kernel refuses it.
    pub fn heal(&self, one: &[impl AsRef<str>], other: &[impl AsRef<str>]) -> Result<()> {
        self.between(one, other, |namespace, address| {
            let known = ip(&["-n", namespace, "neigh", "show", address])?;
            if known.contains(NOBODY) {
                ip(&["-n", namespace, "neigh", "del", address, "dev", "eth0"])?;
            }
            Ok(String::new())
        })
    }

    fn between(
        &self,
        one: &[impl AsRef<str>],
        other: &[impl AsRef<str>],
        act: impl Fn(&str, &str) -> Result<String>,
    ) -> Result<()> {
        for (one, other) in one.iter().flat_map(|one| other.iter().map(move |other| (one, other))) {
            for (from, to) in [(one.as_ref(), other.as_ref()), (other.as_ref(), one.as_ref())] {
                let address = self.address(to)?.to_string();
                self.place(from)?;
                act(&self.namespace(from), &address)?;
            }
        }
        Ok(())
    }

    fn place(&self, host: &str) -> Result<usize> {
        let place = self.hosts.iter().position(|known| known == host);
        place.ok_or_else(|| Error::Internal(format!("no host of the network is called {host}")))
    }

    fn bridge(&self) -> String {
        format!("tidegate{}", self.number)
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.bridge())
    }

    /// The end of a host's cable at the bridge: at most 15 bytes, as the kernel wants it.
    fn near(&self, host: &str) -> Result<String> {
        Ok(format!("{}-{}", self.bridge(), self.place(host)?))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        remove(self.number);
    }
}

/// Takes a number that no network has.
fn claim() -> Result<u16> {
    remove_left_behind();
    let first = std::process::id() % u32::from(NETWORKS);
    for turn in 0..NETWORKS {
        let number = (first as u16 + turn) % NETWORKS;
        match ip(&["link", "add", &format!("tidegate{number}"), "type", "bridge"]) {
            Err(Error::Machine(why)) if why.contains("File exists") => {}
            made => return made.map(|_| number),
        }
    }
    Err(Error::Machine("each of 256 networks is in use: end other tests".into()))
}

/// Removes the networks whose process was killed before it could.
fn remove_left_behind() {
    for number in 0..NETWORKS {
        let alias = format!("/sys/class/net/tidegate{number}/ifalias");
        let owner = std::fs::read_to_string(alias).unwrap_or_default();
        let owner: Option<u32> = owner.trim().parse().ok();
        if owner.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            remove(number);
        }
    }
}

/// Kills what runs in the hosts of a network, and removes them and its bridge.
fn remove(number: u16) {
    let prefix = format!("tidegate{number}-");
    let listed = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    for name in listed.filter_map(|entry| entry.file_name().into_string().ok()) {
        if !name.starts_with(&prefix) {
            continue;
        }
        let inside = ip(&["netns", "pids", &name]).unwrap_or_default();
        for id in inside.split_whitespace().filter_map(|id| id.parse::<i32>().ok()) {
            // SAFETY: sends a signal to a process that runs in a namespace of this network.
            unsafe { libc::kill(id, libc::SIGKILL) };
        }
        // Its end at the bridge goes with it once the last process has.
        let _ = ip(&["-n", &name, "link", "del", "eth0"]);
        let _ = ip(&["netns", "del", &name]);
    }
    let _ = ip(&["link", "del", &format!("tidegate{number}")]);
}

fn ip(args: &[&str]) -> Result<String> {
    tool("ip", args)
}

/// Runs a program of iproute2 to its end; its output.
fn tool(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.of_machine(format_args!("{program} (apt-get install iproute2)"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::Machine(format!("{program} {}: {why}", args.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Launch;
    use std::io::Read as _;
    use std::net::TcpListener;

    /// Says hello to whoever connects.
    const SERVER: &str = "import socket\n\
        s = socket.create_server(('0.0.0.0', 7000))\n\
        while True:\n c, _ = s.accept()\n c.sendall(b'hello')\n c.close()";

    /// Whether a host gets an answer from that server, within half a second.
    fn hears(network: &Network, from: &str, to: &str) -> bool {
        let script = format!(
            "import socket\ns = socket.create_connection(('{}', 7000), 0.5)\nassert s.recv(5) == b'hello'",
            network.address(to).unwrap()
        );
        let mut command = network.command(from, "python3").unwrap();
        command.args(["-c", &script]).stderr(Stdio::null()).status().unwrap().success()
    }

    #[test]
    fn hosts_reach_each_other_until_they_are_cut_and_again_once_healed() {
        let Some(network) = Network::unless_refused(&["a", "b", "c"]) else { return };
        let mut server = network.command("a", "python3").unwrap();
        server.args(["-c", SERVER]);
        let ready = [network.socket("a", 7000).unwrap()];
        let _server = Launch::new("server", server).start_listening(&ready).unwrap();
        assert!(hears(&network, "b", "a") && hears(&network, "c", "a"));
        network.cut(&["a"], &["b"]).unwrap();
        assert!(!hears(&network, "b", "a") && hears(&network, "c", "a"));
        network.heal(&["a"], &["b", "c"]).unwrap();
        assert!(hears(&network, "b", "a"));
        assert!(network.cut(&["a"], &["d"]).unwrap_err().to_string().contains("called d"));
    }

    #[test]
    fn a_host_reaches_this_machine() {
        let Some(network) = Network::unless_refused(&["a"]) else { return };
        let listener = TcpListener::bind((network.here(), 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let hello = format!(
            "import socket\nsocket.create_connection(('{}', {port})).sendall(b'x')",
            network.here()
        );
        let mut command = network.command("a", "python3").unwrap();
        command.args(["-c", &hello]);
        let _hello = Launch::new("hello", command).start().unwrap();
        listener.accept().unwrap().0.read_exact(&mut [0]).unwrap();
    }

    #[test]
    fn nothing_is_left_of_a_network_after_a_panic() {
        let Some(network) = Network::unless_refused(&["a", "b"]) else { return };
        let (bridge, namespace) = (network.bridge(), network.namespace("a"));
        let mut sleep = network.command("a", "sleep").unwrap();
        let mut sleep = sleep.arg("1000").spawn().unwrap();
        let panicked = std::panic::catch_unwind(move || {
            let _network = network;
            panic!("on purpose");
        });
        assert!(panicked.is_err());
        assert!(!sleep.wait().unwrap().success(), "what ran in it was killed");
        assert!(!Path::new("/run/netns").join(namespace).exists());
        assert!(!Path::new("/sys/class/net").join(bridge).exists());
    }

    #[test]
    fn networks_at_the_same_time_have_addresses_of_their_own() {
        let Some(one) = Network::unless_refused(&["a"]) else { return };
        let Some(other) = Network::unless_refused(&["a"]) else { return };
        assert_ne!(one.address("a").unwrap(), other.address("a").unwrap());
    }
}
