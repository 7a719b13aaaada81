//! Customers who read slowly or not at all, upstreams that are silent or do not read, and
//! streams of events.

use crate::common::*;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{End, UpstreamFault};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
/// More than the buffers of the kernel on both sides hold.
const LARGE: usize = 16 << 20;

/// An upstream that sends a large response.
fn large() -> SocketAddr {
    upstream(|mut reader| {
        while read_request(&mut reader).is_some() {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n");
            let socket = reader.get_mut();
            let sent = socket.write_all(head.as_bytes()).and_then(|()| {
                (0..LARGE >> 20).try_for_each(|_| socket.write_all(&vec![b'x'; 1 << 20]))
            });
            if sent.is_err() {
                return;
            }
        }
    })
}

/// A gate that also listens for plain HTTP.
fn gate_for(upstream: SocketAddr, limits: &str) -> Gate {
    gate_within(upstream, "", limits)
}

/// The same with further keys of the upstream.
fn gate_within(upstream: SocketAddr, keys: &str, limits: &str) -> Gate {
    let core = a_core();
    let listen = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{core}\"\n\
         drain_deadline = \"0s\"\n"
    );
    gate(upstream, &format!("{keys}\n[limits]\n{limits}\n{listen}"))
}

/// A customer who has sent a GET and received the head of the response.
fn customer(gate: &Gate, tls: bool) -> BufReader<Box<dyn ReadWrite>> {
    let stream: Box<dyn ReadWrite> = if tls {
        Box::new(connect(gate, &any_client()).into_inner())
    } else {
        let plain = TcpStream::connect(gate.clear_address().unwrap()).unwrap();
        plain.set_read_timeout(Some(PATIENCE)).unwrap();
        Box::new(plain)
    };
    let mut connection = BufReader::new(stream);
    send(&mut connection, GET);
    receive_head(&mut connection).unwrap();
    connection
}

/// One over plain HTTP and one over TLS.
fn customers(gate: &Gate) -> [BufReader<Box<dyn ReadWrite>>; 2] {
    [customer(gate, false), customer(gate, true)]
}

trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}

/// Reads at this rate in steps of 50 ms, for a time; then as fast as possible to the end.
/// Returns how much was read.
fn read_slowly(connection: &mut impl Read, per_second: usize, time: Duration) -> usize {
    let (begun, mut read) = (Instant::now(), 0);
    let mut buffer = vec![0; per_second / 20];
    while begun.elapsed() < time {
        connection.read_exact(&mut buffer).expect("a slow reader is served");
        read += buffer.len();
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut buffer = vec![0; 1 << 20];
    while read < LARGE {
        match connection.read(&mut buffer).expect("a slow reader is served") {
            0 => return read,
            n => read += n,
        }
    }
    read
}

#[test]
fn a_slow_reader_is_served_to_the_end() {
    // At 0.5 MB/s a third of the kernel's send buffer takes 2.6 s.
    let limits = "body_progress_deadline = \"800ms\"\ndownload_pause = \"1600ms\"\n";
    let gate = gate_for(large(), limits);
    let customers = customers(&gate);
    std::thread::scope(|scope| {
        for mut customer in customers {
            scope.spawn(move || {
                let read = read_slowly(&mut customer, 500_000, Duration::from_secs(6));
                assert_eq!(read, LARGE);
            });
        }
    });
    assert_eq!(gate.totals().ends[End::BodyDeadline], 0);
}

#[test]
fn a_customer_who_reads_nothing_is_cut_after_the_pause() {
    let limits = "body_progress_deadline = \"60s\"\ndownload_pause = \"400ms\"\n";
    let gate = gate_for(large(), limits);
    let begun = Instant::now();
    let customers = customers(&gate);
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 2);
    assert!(begun.elapsed() >= Duration::from_millis(400));
    for mut customer in customers {
        assert!(customer.read_to_end(&mut Vec::new()).is_err(), "a cut, not an end");
    }
    assert_eq!(gate.totals().upstream_faults.values().iter().sum::<u64>(), 0);
}

#[test]
fn a_customer_below_the_least_rate_is_cut_although_they_read() {
    let limits = "download_pause = \"500ms\"\ndownload_rate = 1000000\n";
    let gate = gate_for(endless(), limits);
    let customers = customers(&gate);
    std::thread::scope(|scope| {
        for mut customer in customers {
            scope.spawn(move || {
                let begun = Instant::now();
                // What the buffers hold is taken at once, and pays for some seconds.
                let mut buffer = vec![0; 10_000];
                while customer.read_exact(&mut buffer).is_ok() {
                    assert!(begun.elapsed() < PATIENCE, "it is not cut");
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
    });
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 2);
}

/// An upstream that sends without end.
fn endless() -> SocketAddr {
    upstream(|mut reader| {
        let _ = read_request(&mut reader);
        let socket = reader.get_mut();
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
        let _ = socket.write_all(head);
        while socket.write_all(&[b'x'; 65_536]).is_ok() {}
    })
}

#[test]
fn a_customer_who_waits_for_the_upstream_needs_no_rate() {
    let limits = "download_pause = \"100ms\"\ndownload_rate = 1000000";
    for tls in [false, true] {
        let (gate, events) = streaming("text/html", "", limits);
        let mut customer = customer(&gate, tls);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(400) {
            events.send("x").unwrap();
            assert_eq!(chunk(&mut customer), "x");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(gate.totals().ends[End::BodyDeadline], 0);
    }
}

#[test]
fn a_customer_who_still_reads_is_not_idle() {
    // The kernel accepts the whole response at once, and the customer reads it slowly.
    let body = "x".repeat(1 << 20);
    let gate = gate_for(answering(move |_| ok(&body)), "idle_deadline = \"1s\"\n");
    for mut customer in customers(&gate) {
        let mut left = 1 << 20;
        let mut buffer = vec![0; 40_000];
        while left > 0 {
            let n = customer.read(&mut buffer).unwrap();
            assert!(n > 0, "closed in the middle");
            left -= n;
            std::thread::sleep(Duration::from_millis(60));
        }
        assert!(get(&mut customer, "/").is_ok(), "the connection is kept");
    }
}

/// A gate before an upstream that answers with chunks of this type as they are sent on
/// the sender.
fn streaming(kind: &'static str, keys: &str, limits: &str) -> (Gate, mpsc::Sender<&'static str>) {
    let (events, to_send) = mpsc::channel::<&str>();
    let to_send = Mutex::new(to_send);
    let upstream = upstream(move |mut reader| {
        let _ = read_request(&mut reader);
        let socket = reader.get_mut();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let _ = socket.write_all(head.as_bytes());
        while let Ok(event) = to_send.lock().unwrap().recv() {
            let chunk = format!("{:x}\r\n{event}\r\n", event.len());
            if socket.write_all(chunk.as_bytes()).is_err() {
                return;
            }
        }
    });
    (gate_within(upstream, keys, limits), events)
}

/// One chunk of a response.
fn chunk(connection: &mut impl std::io::BufRead) -> String {
    let mut size = String::new();
    connection.read_line(&mut size).unwrap();
    let size = usize::from_str_radix(size.trim(), 16).expect("a chunk");
    let mut chunk = vec![0; size + 2];
    connection.read_exact(&mut chunk).unwrap();
    String::from_utf8(chunk).unwrap().trim_end().to_owned()
}

const SHORT: &str = "response_pause = \"400ms\"";
const SHORT_BODY: &str = "body_progress_deadline = \"400ms\"";

#[test]
fn a_silent_stream_of_events_lives_on() {
    for tls in [false, true] {
        let (gate, events) = streaming("text/event-stream; charset=utf-8", SHORT, "");
        let mut customer = customer(&gate, tls);
        std::thread::sleep(Duration::from_secs(1));
        events.send("data: 1").unwrap();
        assert_eq!(chunk(&mut customer), "data: 1");
    }
}

#[test]
fn a_stream_of_events_has_a_deadline_of_its_own() {
    let limits = "stream_types = [\"a/b\"]\nstream_deadline = \"600ms\"";
    let (gate, _events) = streaming("A/B", SHORT, limits);
    let begun = Instant::now();
    let _customer = customers(&gate);
    counted(&gate, "cut", |totals| totals.ends[End::Truncated] >= 1);
    assert!(begun.elapsed() >= Duration::from_millis(600));
}

#[test]
fn the_customers_departure_ends_a_silent_stream() {
    let (gate, _events) = streaming("text/event-stream", "", "");
    drop(customers(&gate));
    counted(&gate, "left", |totals| totals.open == 0 && totals.upstream_open == 0);
}

#[test]
fn a_response_that_the_upstream_stops_sending_is_the_upstreams_fault() {
    let (gate, _events) = streaming("text/html", SHORT, "");
    let [mut plain, mut tls] = customers(&gate);
    counted(&gate, "cut", |totals| totals.ends[End::Truncated] == 2);
    assert!(plain.read_to_end(&mut Vec::new()).is_err(), "a reset, not an end");
    assert!(tls.read_to_end(&mut Vec::new()).is_err(), "no close_notify");
    let totals = gate.totals();
    assert_eq!(totals.upstream_faults[UpstreamFault::Stalled], 2);
    assert_eq!(totals.ends[End::BodyDeadline], 0);
}

/// An upstream that reads the head of a request and nothing of the body, until the sender
/// is dropped.
fn reading_no_body() -> (SocketAddr, mpsc::Sender<()>) {
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let upstream = upstream(move |mut reader| {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        let _ = held.lock().unwrap().recv();
    });
    (upstream, release)
}

#[test]
fn an_upload_that_the_upstream_stops_reading_gives_504() {
    let (upstream, _release) = reading_no_body();
    let gate = gate_for(upstream, SHORT_BODY);
    let socket = TcpStream::connect(gate.clear_address().unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut writer = socket.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LARGE}\r\n\r\n");
        let _ = writer.write_all(head.as_bytes());
        (0..LARGE >> 20).try_for_each(|_| writer.write_all(&vec![b'x'; 1 << 20]))
    });
    let response = receive(&mut BufReader::new(socket), "POST").unwrap();
    assert_eq!(response.code, 504);
    assert!(response.text().contains("stopped reading"), "{}", response.text());
    let _ = sending.join().unwrap();
    let totals = gate.totals();
    assert_eq!(totals.upstream_faults[UpstreamFault::Stalled], 1);
    assert_eq!(totals.ends[End::BodyDeadline], 0);
    assert_eq!(gate.snapshot().upstream_errors, [("stalled", 1)]);
}

#[test]
fn the_504_for_a_stalled_upload_reaches_curl_over_tls() {
    let (upstream, _release) = reading_no_body();
    let gate = gate_for(upstream, SHORT_BODY);
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LARGE as u64).unwrap();
    let curl = std::process::Command::new("curl")
        .args(["-sk", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", "-T"])
        .arg(file.path())
        .arg(format!("https://{}/", gate.address()))
        .output()
        .expect("curl is installed");
    assert_eq!(String::from_utf8_lossy(&curl.stdout), "504");
    assert_eq!(gate.totals().upstream_faults[UpstreamFault::Stalled], 1);
}

#[test]
fn an_upload_that_the_upstream_reads_slowly_is_passed_on() {
    const BODY: usize = 8 << 20;
    // At 1 MB/s a third of the kernel's send buffer takes 1.3 s.
    let upstream = upstream(|mut reader| {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        }
        let (begun, mut left, mut buffer) = (Instant::now(), BODY, vec![0; 100_000]);
        while left > 0 {
            let slow = begun.elapsed() < Duration::from_secs(4);
            let size = left.min(buffer.len());
            reader.read_exact(&mut buffer[..size]).unwrap();
            left -= size;
            std::thread::sleep(Duration::from_millis(if slow { 100 } else { 0 }));
        }
        reader.get_mut().write_all(ok("all").as_bytes()).unwrap();
    });
    let gate = gate_for(upstream, "body_progress_deadline = \"800ms\"");
    let mut customer = connect(&gate, &any_client());
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {BODY}\r\n\r\n");
    send(&mut customer, head.as_bytes());
    send(&mut customer, &vec![b'x'; BODY]);
    assert_eq!(receive(&mut customer, "POST").unwrap().text(), "all");
}

/// Whether the kernel asks the peers of a port's connections by keepalive: the column `tr`
/// of /proc/net/tcp is 02 then (proc_net_tcp in the kernel's documentation).
fn has_keepalive(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next().unwrap().ends_with(&format!(":{port:04X}"));
        let (state, timer) = (fields.nth(1).unwrap(), fields.nth(1).unwrap());
        local && state == "01" && timer.starts_with("02:")
    })
}

#[test]
fn in_a_stream_of_events_the_kernel_asks_for_the_customer() {
    for (kind, asked) in [("text/event-stream", true), ("text/html", false)] {
        for tls in [false, true] {
            let (gate, events) = streaming(kind, "", "");
            let mut customer = customer(&gate, tls);
            events.send("data: 1").unwrap();
            chunk(&mut customer);
            let address = if tls { gate.address() } else { gate.clear_address().unwrap() };
            until("acknowledged", || has_keepalive(address.port()) == asked);
        }
    }
}
