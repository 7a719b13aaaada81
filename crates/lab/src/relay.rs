//! A relay between customers and a server: it delays what passes, as a long way does, and counts
//! bytes and round trips. It works where the kernel cannot delay packets. The delay can be changed
//! while connections are open; what is on its way stays in order.
//!
//! A window of 10 segments opens the transfer in each direction and doubles with every round trip
//! (RFC 6928 and RFC 5681, slow start). Deviation: the window is per flight, that is from one
//! change of direction to the next, and there are no losses.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tidegate_host::Cores;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::error::{Fault, Result};

/// Bytes that a sender has under way at first: 10 segments of 1460 bytes.
const WINDOW: u64 = 14_600;
/// Pieces of at most 16 KiB that wait on a way; a sender waits for room.
const PIECES: usize = 256;

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    round_trip: RoundTrip,
    counters: Arc<Counters>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The round-trip time, in microseconds.
#[derive(Clone, Debug, Default)]
struct RoundTrip(Arc<AtomicU64>);

impl RoundTrip {
    fn set(&self, time: Duration) {
        self.0.store(time.as_micros() as u64, Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// What has passed a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes of the customers, above TCP.
    pub sent: u64,
    /// Bytes of the server, above TCP.
    pub received: u64,
    /// Round trips: one that opens each connection, one for each flight of a customer that the
    /// server answers, and one whenever a flight is larger than the window.
    pub round_trips: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    received: AtomicU64,
    round_trips: AtomicU64,
}

impl Relay {
    /// A relay to a server, on these processors, with this round-trip time. It listens on loopback.
    ///
    /// # Errors
    /// No port is free, or no thread can be started.
    pub fn start(to: SocketAddr, round_trip: Duration, cores: &Cores) -> Result<Self> {
        let relay = Self::start_at(Ipv4Addr::LOCALHOST, to, cores)?;
        relay.set_round_trip(round_trip);
        Ok(relay)
    }

    /// The same at another address of this machine, without a delay.
    ///
    /// # Errors
    /// No port is free, or no thread can be started.
    pub fn start_at(here: Ipv4Addr, to: SocketAddr, cores: &Cores) -> Result<Self> {
        let what = "cannot start a relay";
        let listener = TcpListener::bind((here, 0)).of_machine(what)?;
        listener.set_nonblocking(true).of_machine(what)?;
        let address = listener.local_addr().of_machine(what)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().of_machine(what)?;
        let (counters, round_trip) = (Arc::<Counters>::default(), RoundTrip::default());
        let (stop, mut stopped) = watch::channel(false);
        let (cores, counted, each) = (cores.clone(), Arc::clone(&counters), round_trip.clone());
        let work = move || {
            // Elsewhere it would still relay.
            let _ = cores.pin_this_thread();
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                loop {
                    tokio::select! {
                        _ = stopped.changed() => return,
                        accepted = listener.accept() => if let Ok((client, _)) = accepted {
                            tokio::spawn(relay(client, to, each.clone(), Arc::clone(&counted)));
                        },
                    }
                }
            });
        };
        let thread =
            std::thread::Builder::new().name("relay".into()).spawn(work).of_machine(what)?;
        Ok(Self { address, round_trip, counters, stop, thread: Some(thread) })
    }

    /// Changes the round-trip time from now on.
    pub fn set_round_trip(&self, time: Duration) {
        self.round_trip.set(time);
    }

    /// Where customers come.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has passed so far.
    pub fn passed(&self) -> Passed {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { sent, received, round_trips } = &*self.counters;
        Passed { sent: of(sent), received: of(received), round_trips: of(round_trips) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // What it panicked with was printed.
            let _ = thread.join();
        }
    }
}

/// One connection.
async fn relay(client: TcpStream, to: SocketAddr, round_trip: RoundTrip, counted: Arc<Counters>) {
    let Ok(server) = TcpStream::connect(to).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    counted.round_trips.fetch_add(1, Ordering::Relaxed);
    // The customer's connection to this relay took no time.
    tokio::time::sleep(round_trip.get()).await;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let of_client = Arc::new(AtomicBool::new(false));
    let way = |is_client| Way {
        is_client,
        round_trip: round_trip.clone(),
        last: Arc::clone(&of_client),
        counted: Arc::clone(&counted),
    };
    tokio::join!(way(true).pass(from_client, to_server), way(false).pass(from_server, to_client));
}

/// One direction of a connection.
struct Way {
    is_client: bool,
    round_trip: RoundTrip,
    /// Whether the customer sent last.
    last: Arc<AtomicBool>,
    counted: Arc<Counters>,
}

/// The window of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flight {
    bytes: u64,
    window: u64,
    /// What the windows so far carry.
    room: u64,
    waits: u32,
}

impl Flight {
    const NEW: Self = Self { bytes: 0, window: WINDOW, room: WINDOW, waits: 0 };

    /// Adds bytes, and returns for how many more round trips these wait.
    fn add(&mut self, bytes: u64) -> u32 {
        self.bytes += bytes;
        let before = self.waits;
        while self.bytes > self.room {
            self.window *= 2;
            self.room += self.window;
            self.waits += 1;
        }
        self.waits - before
    }
}

impl Way {
    async fn pass(
        self,
        mut from: impl tokio::io::AsyncRead + Unpin,
        mut to: impl tokio::io::AsyncWrite + Unpin,
    ) {
        let (pieces, mut waiting) = mpsc::channel::<(Instant, Vec<u8>)>(PIECES);
        let read = async move {
            let (mut buffer, mut flight) = (vec![0; 16 << 10], Flight::NEW);
            loop {
                let read = from.read(&mut buffer).await.unwrap_or(0);
                if read == 0 {
                    return;
                }
                if self.last.swap(self.is_client, Ordering::Relaxed) != self.is_client {
                    flight = Flight::NEW;
                    // A flight that nobody answers, such as the end of a connection, is none that
                    // the customer waits for.
                    self.count(u64::from(!self.is_client));
                }
                let more = flight.add(read as u64);
                self.count(more.into());
                let bytes =
                    if self.is_client { &self.counted.sent } else { &self.counted.received };
                bytes.fetch_add(read as u64, Ordering::Relaxed);
                let round_trip = self.round_trip.get();
                let due = Instant::now() + round_trip / 2 + round_trip * flight.waits;
                if pieces.send((due, buffer[..read].to_vec())).await.is_err() {
                    return;
                }
            }
        };
        let write = async move {
            while let Some((due, piece)) = waiting.recv().await {
                sleep_until(due).await;
                if to.write_all(&piece).await.is_err() {
                    return;
                }
            }
            let _ = to.shutdown().await;
        };
        tokio::join!(read, write);
    }

    fn count(&self, round_trips: u64) {
        self.counted.round_trips.fetch_add(round_trips, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn a_flight_beyond_ten_segments_waits_and_its_window_doubles() {
        let mut flight = Flight::NEW;
        assert_eq!(flight.add(14_600), 0);
        assert_eq!(flight.add(1), 1, "the second window has 29,200 bytes");
        assert_eq!(flight.add(29_199), 0);
        // 14,600 × (1 + 2 + 4) = 102,200.
        assert_eq!(flight.add(102_200 - 43_800), 1);
        let mut whole = Flight::NEW;
        assert_eq!(whole.add(1 << 20), 6, "14,600 × (2⁷ − 1) = 1,854,200");
    }

    #[test]
    fn a_delay_that_begins_holds_back_what_comes_from_then_on() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let to = server.local_addr().unwrap();
        let cores = Cores::of_this_thread().unwrap();
        let relay = Relay::start(to, Duration::ZERO, &cores).unwrap();
        let mut client = std::net::TcpStream::connect(relay.address()).unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let mut pass = || {
            let begun = std::time::Instant::now();
            client.write_all(b"a").unwrap();
            accepted.read_exact(&mut [0]).unwrap();
            begun.elapsed()
        };
        pass();
        relay.set_round_trip(Duration::from_millis(100));
        assert!(pass() >= Duration::from_millis(50), "half of it each way");
    }

    #[test]
    fn bytes_and_round_trips_are_counted_both_ways() {
        let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let to = server.local_addr().unwrap();
        let answer = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            for _ in 0..2 {
                let mut question = [0; 3];
                stream.read_exact(&mut question).unwrap();
                stream.write_all(b"answer").unwrap();
            }
        });
        let cores = Cores::of_this_thread().unwrap();
        let relay = Relay::start(to, Duration::ZERO, &cores).unwrap();
        let mut client = std::net::TcpStream::connect(relay.address()).unwrap();
        for _ in 0..2 {
            client.write_all(b"ask").unwrap();
            let mut read = [0; 6];
            client.read_exact(&mut read).unwrap();
            assert_eq!(&read, b"answer");
        }
        answer.join().unwrap();
        // One opens the connection.
        assert_eq!(relay.passed(), Passed { sent: 6, received: 12, round_trips: 3 });
    }
}
