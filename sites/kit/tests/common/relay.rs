//! A relay between a client and a server, which can be told to misbehave.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of the bytes that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// They are passed on, and so is the answer.
    Pass,
    /// The last byte of each piece is changed.
    Alter,
    /// They are passed on, and the connection is closed before the answer.
    LoseAnswer,
    /// They are read, and nothing happens.
    Silence,
    /// They are answered with something that is no HTTP.
    Junk,
    /// The connection is closed at once.
    Close,
    /// They are passed on, and the connection is closed within the answer.
    CutAnswer,
    /// They are passed on, and the connection is reset within the answer.
    ResetAnswer,
    /// They are passed on, and the answer comes a third of a second late.
    Late,
}

/// A relay to one server.
pub struct Relay {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    to: Mutex<SocketAddr>,
    way: Mutex<Way>,
    connections: AtomicUsize,
    sent: Mutex<Vec<u8>>,
    open: Mutex<HashMap<usize, TcpStream>>,
}

impl Relay {
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            to: Mutex::new(server),
            way: Mutex::new(Way::Pass),
            connections: AtomicUsize::new(0),
            sent: Mutex::default(),
            open: Mutex::default(),
        });
        let relay = Self { address, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    let number = shared.connections.fetch_add(1, Ordering::Relaxed);
                    let open = client.try_clone().expect("cloned");
                    shared.open.lock().unwrap().insert(number, open);
                    serve(client, &shared);
                    shared.open.lock().unwrap().remove(&number);
                });
            }
        });
        relay
    }

    /// From the next connection on.
    pub fn set(&self, way: Way) {
        *self.shared.way.lock().unwrap() = way;
    }

    /// At once: connections that are kept open are closed.
    pub fn set_now(&self, way: Way) {
        self.set(way);
        for open in self.shared.open.lock().unwrap().values() {
            let _ = open.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.shared.open.lock().unwrap().len()
    }

    /// Everything that clients have sent so far.
    pub fn sent(&self) -> Vec<u8> {
        self.shared.sent.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, shared: &Shared) {
    let way = *shared.way.lock().unwrap();
    let mut bytes = [0; 64 * 1024];
    match way {
        Way::Close => return,
        Way::Silence => {
            while client.read(&mut bytes).is_ok_and(|length| length > 0) {}
            return;
        }
        Way::Junk => {
            let _ = client.read(&mut bytes);
            let _ = client.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n");
            return;
        }
        Way::Pass
        | Way::Alter
        | Way::LoseAnswer
        | Way::CutAnswer
        | Way::ResetAnswer
        | Way::Late => {}
    }
    let to = *shared.to.lock().unwrap();
    let Ok(mut server) = TcpStream::connect_timeout(&to, Duration::from_secs(5)) else { return };
    let (mut from_server, mut to_client) =
        (server.try_clone().expect("cloned"), client.try_clone().expect("cloned"));
    let back = std::thread::spawn(move || {
        let mut bytes = [0; 64 * 1024];
        while let Ok(length) = from_server.read(&mut bytes)
            && length > 0
        {
            let passed = match way {
                Way::LoseAnswer => 0,
                Way::CutAnswer | Way::ResetAnswer => length / 2,
                _ => length,
            };
            if way == Way::Late {
                std::thread::sleep(Duration::from_millis(333));
            }
            if to_client.write_all(&bytes[..passed]).is_err() || passed < length {
                break;
            }
        }
        if way == Way::ResetAnswer {
            // Closed with unsent time left, a connection is reset; the other half ends its read.
            let _ = socket2::SockRef::from(&to_client).set_linger(Some(Duration::ZERO));
            let _ = to_client.shutdown(std::net::Shutdown::Read);
        } else {
            let _ = to_client.shutdown(std::net::Shutdown::Both);
        }
    });
    while let Ok(length) = client.read(&mut bytes)
        && length > 0
    {
        shared.sent.lock().unwrap().extend_from_slice(&bytes[..length]);
        if way == Way::Alter {
            bytes[length - 1] ^= 1;
        }
        if server.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
    let _ = back.join();
}
