//! The addresses of the target. Connections use them in turn; one that does not accept a
//! connection is passed over for the next.
//!
//! Source: RFC 8305, section 5. Deviation: the addresses take turns, so that the load is
//! spread over all of them, where the RFC prefers the first.

use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpSocket, TcpStream};

use super::connections::Sources;
use crate::plan::Avoided;

/// After this time without an answer the next address is tried as well.
///
/// Source: RFC 8305, section 8, Connection Attempt Delay.
const NEXT_AFTER: Duration = Duration::from_millis(250);

/// The addresses of the target, for one thread.
#[derive(Debug)]
pub(crate) struct Addresses {
    all: Vec<Route>,
    /// Index of the address of the next connection.
    next: Cell<usize>,
    /// Number of the first address among those of all hosts.
    number: u8,
    avoided: Avoided,
}

/// An attempt to connect, with the index of its address.
type Attempt<'a> = (usize, Pin<Box<dyn Future<Output = io::Result<TcpStream>> + 'a>>);

impl Addresses {
    /// Most addresses of the target, and of another host; an event has eight bits for one of all.
    pub(crate) const MOST: usize = 64;
    pub(crate) const MOST_OF_OTHERS: usize = 8;

    /// `all` is not empty and has at most [`Addresses::MOST`] addresses. The first connection
    /// goes to the one at `first`, counted in a circle.
    pub(crate) fn new(all: &[SocketAddr], sources: &Sources, first: usize) -> Self {
        let all: Vec<Route> = all.iter().map(|address| Route::new(*address, sources)).collect();
        let next = Cell::new(first % all.len());
        Self { all, next, number: 0, avoided: Avoided::default() }
    }

    /// Addresses whose indices begin with `number`.
    pub(crate) fn numbered_from(self, number: u8) -> Self {
        Self { number, ..self }
    }

    /// Addresses of which some are avoided at times.
    pub(crate) fn without(self, avoided: Avoided) -> Self {
        Self { avoided, ..self }
    }

    /// Connects to the next address, or to one after it if that does not accept. Returns its
    /// index. `passed` is called with the index of each address that was passed over.
    ///
    /// # Errors
    /// No address accepts: the error of the last. Or the machine has no ports or descriptors.
    pub(crate) async fn connect(&self, passed: impl Fn(u8)) -> io::Result<(TcpStream, u8)> {
        let first = self.first();
        self.next.set((first + 1) % self.all.len());
        if let [only] = self.all.as_slice() {
            return Ok((only.connect().await?, self.number));
        }
        // Boxed, so that a single address needs no room for it.
        let (tcp, index) = Box::pin(self.connect_from(first, passed)).await?;
        Ok((tcp, self.number + index as u8))
    }

    /// Index of the address of the next connection.
    fn first(&self) -> usize {
        let next = self.next.get();
        let mut order = (0..self.all.len()).map(|n| (next + n) % self.all.len());
        order.find(|index| !self.avoided.contains(self.all[*index].address)).unwrap_or(next)
    }

    async fn connect_from(
        &self,
        first: usize,
        passed: impl Fn(u8),
    ) -> io::Result<(TcpStream, usize)> {
        let mut order = (0..self.all.len()).map(|n| (first + n) % self.all.len());
        let mut attempts: Vec<Attempt<'_>> = Vec::new();
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        loop {
            match order.next() {
                Some(index) => attempts.push((index, Box::pin(self.all[index].connect()))),
                None if attempts.is_empty() => return Err(last),
                None => {}
            }
            match tokio::time::timeout(NEXT_AFTER, first_of(&mut attempts)).await {
                Ok((index, Ok(tcp))) => return Ok((tcp, index)),
                Ok((_, Err(error))) if is_local(&error) => return Err(error),
                Ok((index, Err(error))) => {
                    passed(self.number + index as u8);
                    last = error;
                }
                Err(_) => {}
            }
        }
    }
}

/// The first attempt that ends; it is removed.
async fn first_of(attempts: &mut Vec<Attempt<'_>>) -> (usize, io::Result<TcpStream>) {
    std::future::poll_fn(|cx| {
        for at in 0..attempts.len() {
            if let Poll::Ready(result) = attempts[at].1.as_mut().poll(cx) {
                return Poll::Ready((attempts.swap_remove(at).0, result));
            }
        }
        Poll::Pending
    })
    .await
}

/// Whether another address would have the same error.
fn is_local(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS)
            | Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE)
    )
}

/// The way to an address.
#[derive(Debug)]
struct Route {
    address: SocketAddr,
    sources: Vec<IpAddr>,
    next_source: Cell<usize>,
}

impl Route {
    fn new(address: SocketAddr, sources: &Sources) -> Self {
        Self { address, sources: sources.addresses(address), next_source: Cell::new(0) }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let socket =
            if self.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if !self.sources.is_empty() {
            let index = self.next_source.get();
            self.next_source.set((index + 1) % self.sources.len());
            // The port is chosen when connecting, so that one port can serve
            // connections to several targets.
            port_at_connect(&socket);
            socket.bind(SocketAddr::new(self.sources[index], 0))?;
        }
        socket.set_nodelay(true)?;
        // A connection that is dropped is reset, whatever it was doing;
        // `Transport::finish` takes this back for one that ends well.
        SockRef::from(&socket).set_linger(Some(Duration::ZERO))?;
        socket.connect(self.address).await
    }
}

/// Sets `IP_BIND_ADDRESS_NO_PORT`; without it ports are scarcer.
fn port_at_connect(socket: &TcpSocket) {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the value points to a c_int of the
    // length given.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        );
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::net::TcpListener;

    use super::*;

    /// Connects `count` times; the index of each connection, and those passed over.
    fn connect(all: &[SocketAddr], first: usize, count: usize) -> (Vec<u8>, Vec<u8>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let addresses = Addresses::new(all, &Sources::System, first);
        let passed = RefCell::new(Vec::new());
        let indices = runtime.block_on(async {
            let mut indices = Vec::new();
            for _ in 0..count {
                let made = addresses.connect(|index| passed.borrow_mut().push(index)).await;
                indices.push(made.unwrap().1);
            }
            indices
        });
        (indices, passed.into_inner())
    }

    fn listeners<const N: usize>() -> ([TcpListener; N], Vec<SocketAddr>) {
        let all: [TcpListener; N] =
            std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = all.iter().map(|it| it.local_addr().unwrap()).collect();
        (all, addresses)
    }

    #[test]
    fn connections_use_the_addresses_in_turn() {
        let (_open, all) = listeners::<3>();
        assert_eq!(connect(&all, 0, 5), (vec![0, 1, 2, 0, 1], vec![]));
        assert_eq!(connect(&all, 7, 3), (vec![1, 2, 0], vec![]), "each thread begins elsewhere");
    }

    #[test]
    fn addresses_that_are_avoided_have_no_turn_until_all_are() {
        let (_open, all) = listeners::<3>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let avoided = Avoided::default();
        let addresses = Addresses::new(&all, &Sources::System, 0).without(avoided.clone());
        let two = || {
            let next = || runtime.block_on(addresses.connect(|_| ())).unwrap().1;
            [next(), next()]
        };
        assert_eq!(two(), [0, 1]);
        avoided.set(vec![all[2], all[0]]);
        assert_eq!(two(), [1, 1]);
        avoided.set(all.clone());
        assert_eq!(two(), [2, 0]);
        avoided.set(Vec::new());
        assert_eq!(two(), [1, 2]);
    }

    #[test]
    fn an_address_that_refuses_is_passed_over() {
        let ([_a, refusing, _c], all) = listeners::<3>();
        drop(refusing);
        assert_eq!(connect(&all, 0, 4), (vec![0, 2, 2, 0], vec![1]));
    }

    #[test]
    fn an_address_that_does_not_answer_delays_only_its_own_turn() {
        // A listener with a full queue drops the next SYN.
        let full = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let full = full.unwrap();
        full.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        full.listen(0).unwrap();
        let silent = full.local_addr().unwrap().as_socket().unwrap();
        let _fill: Vec<_> = (0..3)
            .map(|_| std::net::TcpStream::connect_timeout(&silent, Duration::from_millis(100)))
            .collect();
        let (_open, mut all) = listeners::<1>();
        all.insert(0, silent);
        assert_eq!(connect(&all, 0, 2), (vec![1, 1], vec![]));
    }

    #[test]
    fn where_none_accepts_the_error_is_that_of_the_last() {
        let (open, all) = listeners::<2>();
        drop(open);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let addresses = Addresses::new(&all, &Sources::System, 0);
        let error = runtime.block_on(addresses.connect(|_| ())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
