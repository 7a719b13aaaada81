//! The gate's side: asks an agent.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use crate::message::{NONCE, Query, Reading, SIZE};
use crate::secret::Secret;

/// Queries whose answers are still taken.
const OUTSTANDING: usize = 8;
/// After so long without an answer the name is resolved again.
const RESOLVE_AGAIN: Duration = Duration::from_secs(2);

/// Asks one agent.
#[derive(Debug)]
pub struct Client {
    /// `host:port`.
    agent: String,
    secret: Secret,
    socket: Option<UdpSocket>,
    outstanding: VecDeque<([u8; NONCE], Instant)>,
    /// Run and time of the last answer that was taken.
    latest: Option<(u64, Duration)>,
    heard: Instant,
    refused: u64,
}

/// Why there is no reading. Its text is a sentence with a remedy.
#[derive(Debug)]
pub enum Silence {
    /// The name has no address, or there is no way to it.
    Unreachable(String, io::Error),
    /// Nothing listens on the port.
    Refused(String),
    /// No answer came.
    Unanswered(String),
    /// Datagrams came, as many as this, that were not answers signed with the secret.
    Forged(String, u64),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(agent, error) => {
                write!(f, "the agent {agent} cannot be reached ({error}); correct its address")
            }
            Self::Refused(agent) => write!(
                f,
                "nothing listens on UDP port of the agent {agent}; start tidegate agent there"
            ),
            Self::Unanswered(agent) => write!(
                f,
                "the agent {agent} does not answer; see whether it runs, whether its UDP port is \
                 open to this host, and whether it has the same secret (its log says so)"
            ),
            Self::Forged(agent, refused) => write!(
                f,
                "{refused} datagrams from the agent {agent} are not answers signed with this \
                 secret; gate and agent need the same secret and version"
            ),
        }
    }
}

impl Client {
    /// A client of the agent at `host:port`. Names are resolved when it is asked.
    pub fn new(agent: impl Into<String>, secret: Secret) -> Self {
        Self {
            agent: agent.into(),
            secret,
            socket: None,
            outstanding: VecDeque::new(),
            latest: None,
            heard: Instant::now(),
            refused: 0,
        }
    }

    /// Asks, waits for an answer for so long at most, and returns its reading with the time of
    /// the question, than which it is not older. Answers to earlier questions count while they
    /// say more than what was known. Resolving the name may take longer.
    ///
    /// # Errors
    /// Why there is no reading.
    pub fn ask(&mut self, wait: Duration) -> Result<(Reading, Instant), Silence> {
        let asked = Instant::now();
        let refused_before = self.refused;
        if self.socket.is_some() && asked.duration_since(self.heard) > RESOLVE_AGAIN {
            (self.socket, self.heard) = (None, asked);
        }
        let nonce = self.nonce().map_err(|error| self.unreachable(error))?;
        let query = Query { nonce }.datagram(&self.secret);
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => connect(&self.agent).map_err(|error| self.unreachable(error))?,
        };
        let answer = match socket.send(&query) {
            Ok(_) => {
                self.outstanding.push_back((nonce, asked));
                if self.outstanding.len() > OUTSTANDING {
                    self.outstanding.pop_front();
                }
                self.receive(&socket, asked + wait)
            }
            Err(error) => Err(error),
        };
        self.socket = Some(socket);
        match answer {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) if self.refused > refused_before => {
                Err(Silence::Forged(self.agent.clone(), self.refused))
            }
            Ok(None) => Err(Silence::Unanswered(self.agent.clone())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Err(Silence::Refused(self.agent.clone()))
            }
            Err(error) => {
                self.socket = None;
                Err(self.unreachable(error))
            }
        }
    }

    fn unreachable(&self, error: io::Error) -> Silence {
        Silence::Unreachable(self.agent.clone(), error)
    }

    fn nonce(&self) -> io::Result<[u8; NONCE]> {
        let random = aws_lc_rs::rand::generate(&aws_lc_rs::rand::SystemRandom::new());
        let random = random.map_err(|_| io::Error::other("no random numbers"))?;
        Ok(random.expose())
    }

    /// The next answer that says something new; `None` if none came until `deadline`.
    fn receive(
        &mut self,
        socket: &UdpSocket,
        deadline: Instant,
    ) -> io::Result<Option<(Reading, Instant)>> {
        let mut datagram = [0; SIZE + 1];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            socket.set_read_timeout(Some(left))?;
            let length = match socket.recv(&mut datagram) {
                Ok(length) => length,
                Err(error) if is_timeout(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            if let Some(answer) = self.take(&datagram[..length]) {
                return Ok(Some(answer));
            }
        }
    }

    /// The reading of a datagram, if it answers a question that is open and is newer than what
    /// is known.
    fn take(&mut self, datagram: &[u8]) -> Option<(Reading, Instant)> {
        let Some((nonce, reading)) = Reading::read(datagram, &self.secret) else {
            self.refused += 1;
            return None;
        };
        let open = self.outstanding.iter().position(|(asked, _)| *asked == nonce);
        let Some((_, asked)) = open.and_then(|at| self.outstanding.remove(at)) else {
            // A repeated answer, or one that comes too late.
            return None;
        };
        self.heard = Instant::now();
        let newer = |(run, at)| run != reading.run || reading.at >= at;
        self.latest.is_none_or(newer).then(|| {
            self.latest = Some((reading.run, reading.at));
            (reading, asked)
        })
    }
}

/// A socket that receives from this agent only.
fn connect(agent: &str) -> io::Result<UdpSocket> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in agent.to_socket_addrs()? {
        let own: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own)?;
        match socket.connect(address) {
            Ok(()) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Agent, Sampler};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tidegate_host::service::Target;

    /// Longer than any answer takes.
    const LONG: Duration = Duration::from_secs(20);
    /// For answers that do not come.
    const SHORT: Duration = Duration::from_millis(30);

    fn secret(byte: u8) -> Secret {
        Secret::new(&[byte; 32]).unwrap()
    }

    /// An agent in a thread, of this process.
    struct Running {
        address: String,
        stop: Arc<AtomicBool>,
        thread: Option<std::thread::JoinHandle<crate::Counts>>,
    }

    impl Running {
        fn start(secret: Secret) -> Self {
            let agent = Agent::bind("127.0.0.1:0", secret).unwrap();
            let address = agent.address().unwrap().to_string();
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = stop.clone();
            let of = Target::Processes(vec![1]);
            let serve = move || agent.serve(Sampler::new(of), &stopped).unwrap();
            Self { address, stop, thread: Some(std::thread::spawn(serve)) }
        }

        fn stop(mut self) -> crate::Counts {
            self.stop.store(true, Ordering::Relaxed);
            self.thread.take().unwrap().join().unwrap()
        }
    }

    /// A socket in an agent's place, and a client of it that has asked and got no answer.
    fn asked() -> (UdpSocket, SocketAddr, Query, Client) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut client = Client::new(socket.local_addr().unwrap().to_string(), secret(1));
        assert!(matches!(client.ask(SHORT), Err(Silence::Unanswered(_))));
        let (query, from) = next(&socket);
        (socket, from, query, client)
    }

    fn next(socket: &UdpSocket) -> (Query, SocketAddr) {
        let mut datagram = [0; SIZE];
        let (_, from) = socket.recv_from(&mut datagram).unwrap();
        (Query::read(&datagram, &secret(1)).unwrap(), from)
    }

    fn at(ms: u64) -> Reading {
        Reading { at: Duration::from_millis(ms), ..Reading::default() }
    }

    #[test]
    fn an_agent_answers_who_has_the_secret_and_nobody_else() {
        let agent = Running::start(secret(1));
        let mut client = Client::new(&agent.address, secret(1));
        let (first, _) = client.ask(LONG).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let (second, _) = client.ask(LONG).unwrap();
        assert!(first.run == second.run && second.at > first.at, "{first:?} {second:?}");

        let mut stranger = Client::new(&agent.address, secret(2));
        let silence = stranger.ask(SHORT).unwrap_err();
        assert!(silence.to_string().contains("does not answer; see whether"), "{silence}");
        let garbage = UdpSocket::bind("127.0.0.1:0").unwrap();
        for length in [0, 1, SIZE - 1, SIZE, SIZE + 1, 9000] {
            garbage.send_to(&vec![b'T'; length], &agent.address).unwrap();
        }
        client.ask(LONG).unwrap();
        let counts = agent.stop();
        assert_eq!(counts, crate::Counts { answered: 3, refused: 7 });
    }

    #[test]
    fn after_a_restart_of_the_agent_its_readings_are_of_another_run() {
        let first = Running::start(secret(1));
        let address = first.address.clone();
        let mut client = Client::new(&address, secret(1));
        let (before, _) = client.ask(LONG).unwrap();
        first.stop();
        let silence = client.ask(SHORT).unwrap_err();
        assert!(matches!(silence, Silence::Refused(_) | Silence::Unanswered(_)), "{silence}");
        let agent = Agent::bind(&*address, secret(1)).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let sampler = Sampler::new(Target::Nothing);
            scope.spawn(|| agent.serve(sampler, &stop).unwrap());
            let (after, _) = client.ask(LONG).unwrap();
            assert_ne!(after.run, before.run);
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn an_answer_is_taken_once_and_only_for_a_question_that_is_open() {
        let (socket, from, first, mut client) = asked();
        let send = |reading: &Reading, query: Query, key: u8| {
            socket.send_to(&reading.datagram(query, &secret(key)), from).unwrap();
        };
        // Forged; of a question that nobody asked; and the late answer to the first question.
        send(&at(9), first, 2);
        send(&at(9), Query { nonce: [0; NONCE] }, 1);
        send(&at(1), first, 1);
        assert_eq!(client.ask(LONG).unwrap().0, at(1));
        let (second, _) = next(&socket);
        // Recorded answers to the first question, again and again, and an older state.
        (0..3).for_each(|_| send(&at(1), first, 1));
        send(&at(0), second, 1);
        let silence = client.ask(SHORT).unwrap_err();
        assert!(matches!(silence, Silence::Unanswered(_)), "{silence}");
        let (third, _) = next(&socket);
        send(&at(7), third, 1);
        let (reading, when) = client.ask(LONG).unwrap();
        assert!(reading == at(7) && when.elapsed() < LONG);
    }

    #[test]
    fn answers_with_another_secret_are_reported_as_such() {
        let (socket, from, query, mut client) = asked();
        socket.send_to(&at(1).datagram(query, &secret(2)), from).unwrap();
        let silence = client.ask(SHORT).unwrap_err().to_string();
        assert!(silence.starts_with("1 datagrams from the agent 127.0.0.1:"), "{silence}");
    }

    #[test]
    fn a_name_without_an_address_is_reported() {
        let silence = Client::new("no.such.host.invalid:9444", secret(1)).ask(SHORT).unwrap_err();
        assert!(silence.to_string().starts_with("the agent no.such.host.invalid:9444 cannot be"));
    }
}
