//! Reads a page of node_exporter once a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{CpuTimes, Load, Slot, is_dropped};
use crate::config::Origin;

/// How long a page counts: two that were lost change nothing.
pub const STALE_AFTER: Duration = Duration::from_millis(3500);
/// Time between two pages: the kernel counts in steps of 10 ms.
const EVERY: Duration = Duration::from_secs(1);
/// Longest time that a page may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// Most bytes of a page: ten times that of a machine of 200 processors.
const MOST_BYTES: usize = 8 << 20;

/// Reads until the slot is nobody else's.
pub fn read_until_dropped(origin: &Origin, path: &str, slot: &Arc<Slot>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return slot.fail(format!("it cannot be read ({error})")),
    };
    let mut last: Option<(CpuTimes, Instant)> = None;
    while !is_dropped(slot) {
        let began = Instant::now();
        let page = runtime.block_on(async {
            let page = tokio::time::timeout(DEADLINE, fetch(origin, path)).await;
            page.unwrap_or_else(|_| Err(format!("nothing within {DEADLINE:?}")))
        });
        match page.and_then(|page| CpuTimes::read(&page)) {
            Ok(times) => {
                let load = load(times, began, last);
                last = Some((times, began));
                slot.set(load, began);
            }
            Err(why) => {
                let remedy = "see whether node_exporter runs there with its collector cpu";
                slot.fail(format!("{origin}{path} cannot be read ({why}); {remedy}"));
            }
        }
        // In steps, so that the thread ends soon after its slot.
        while began.elapsed() < EVERY && !is_dropped(slot) {
            std::thread::sleep(Duration::from_millis(100).min(EVERY));
        }
    }
    // A name that is still being resolved must not hold the thread.
    runtime.shutdown_background();
}

/// The load between two pages. After a restart of the machine its times are less than before.
fn load(times: CpuTimes, at: Instant, last: Option<(CpuTimes, Instant)>) -> Load {
    let between = last.and_then(|(before, then)| {
        let passed_s = at.saturating_duration_since(then).as_secs_f64();
        let (used_s, idle_s) = (times.used_s - before.used_s, times.idle_s - before.idle_s);
        let sound = before.cpus == times.cpus && used_s >= 0.0 && idle_s >= 0.0 && passed_s > 0.0;
        sound.then(|| (used_s / passed_s, idle_s / (used_s + idle_s)))
    });
    Load {
        capacity_cpus: times.cpus.into(),
        used_cpus: between.map(|(used_cpus, _)| used_cpus.min(times.cpus.into())),
        idle: between.map(|(_, idle)| idle).filter(|idle| idle.is_finite()),
        ..Load::default()
    }
}

/// Fetches a page over a connection of its own.
///
/// # Errors
/// A clause.
async fn fetch(origin: &Origin, path: &str) -> Result<String, String> {
    let address = (origin.host.as_str(), origin.port);
    let socket = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let opened = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await;
    let (mut sender, connection) = opened.map_err(|error| error.to_string())?;
    let request = Request::get(path).header("host", origin.authority());
    let request = request.header("accept", "text/plain;version=0.0.4");
    let request = request.header("connection", "close").body(Empty::<Bytes>::new());
    let request = request.map_err(|error| error.to_string())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let body = Limited::new(response.into_body(), MOST_BYTES).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        String::from_utf8(body.into()).map_err(|_| "it is not text".to_owned())
    };
    let mut exchange = std::pin::pin!(exchange);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        page = &mut exchange => page,
        ended = &mut connection => match ended {
            // The response may be complete.
            Ok(()) => exchange.await,
            Err(error) => Err(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn times(used_s: f64, idle_s: f64) -> CpuTimes {
        CpuTimes { cpus: 2, used_s, idle_s }
    }

    #[test]
    fn use_and_idle_time_are_those_between_two_pages() {
        let now = Instant::now();
        let then = now.checked_sub(Duration::from_secs(2)).unwrap();
        let first = load(times(10.0, 90.0), then, None);
        assert_eq!((first.capacity_cpus, first.used_cpus, first.idle), (2.0, None, None));
        let second = load(times(13.0, 91.0), now, Some((times(10.0, 90.0), then)));
        assert_eq!((second.used_cpus, second.idle), (Some(1.5), Some(0.25)));
        let restarted = load(times(1.0, 2.0), now, Some((times(10.0, 90.0), then)));
        assert_eq!((restarted.used_cpus, restarted.idle), (None, None));
    }

    /// What is read from a server that answers so.
    fn answer(response: &'static [u8]) -> Result<String, String> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let read = socket.read(&mut head).unwrap();
            socket.write_all(response).unwrap();
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        let origin = Origin { tls: false, host: "127.0.0.1".into(), port, socket: None };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let page = runtime.block_on(fetch(&origin, "/metrics?collect[]=cpu"));
        let head = server.join().unwrap();
        assert!(head.starts_with("GET /metrics?collect[]=cpu HTTP/1.1\r\n"), "{head}");
        page
    }

    #[test]
    fn a_page_ends_with_its_length_or_with_the_connection() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na\n";
        assert_eq!(answer(whole).as_deref(), Ok("a\n"));
        assert_eq!(answer(b"HTTP/1.0 200 OK\r\n\r\nb\n").as_deref(), Ok("b\n"));
    }

    #[test]
    fn what_is_no_page_is_refused() {
        assert_eq!(
            answer(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
            Err("status 404".into())
        );
        assert!(answer(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na").is_err());
        assert!(answer(b"junk\r\n\r\n").is_err());
        let binary = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n\xff";
        assert_eq!(answer(binary), Err("it is not text".into()));
    }
}
