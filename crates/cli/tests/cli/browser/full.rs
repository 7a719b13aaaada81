//! Chromium before a gate that is full: it waits, is admitted, and gets a page with all its parts.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fantoccini::Client;
use serde_json::json;
use tempfile::TempDir;

use crate::common::browser::{Driver, arrive, browser, chromedriver, no_browser_here};
use crate::common::upstream::read_request;
use crate::common::{PATIENCE, Running, curl, wait_until};

const IMAGES: usize = 40;

/// A site of one page with images. Each takes a while, so that a browser opens as many connections
/// as it may.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve(&stream));
        }
    });
    url
}

fn serve(mut stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    loop {
        let (head, _) = read_request(&mut reader);
        let Some(path) = head.split(' ').nth(1) else { return };
        let (status, kind, body) = match path {
            "/" => {
                let images = (0..IMAGES).map(|n| format!("<img src=\"/{n}.svg\" alt=\"{n}\">"));
                let images: String = images.collect();
                ("200 OK", "text/html", format!("<!doctype html><h1>All there</h1>{images}"))
            }
            image if image.ends_with(".svg") => {
                std::thread::sleep(Duration::from_millis(100));
                let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>";
                ("200 OK", "image/svg+xml", svg.to_owned())
            }
            _ => ("404 Not Found", "text/plain", String::new()),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Cache-Control: no-store\r\n\r\n"
        );
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// A gate that admits one new session, and then none for longer than a test lasts.
struct FullGate {
    gate: Running,
    file: PathBuf,
    text: String,
}

impl FullGate {
    /// Its one session is over.
    fn start(folder: &Path, refuse: &str, http2: bool) -> Self {
        let (url, any) = (site(), "address = \"127.0.0.1:0\"");
        let text = format!(
            "[listen]\n{any}\nhttp2 = {http2}\n[admin]\n{any}\n[upstream]\nurl = \"{url}\"\n\
             [admission]\nrefuse = \"{refuse}\"\npolicy = \"static\"\nhold_time = \"0s\"\n\
             room_share = 0.5\nrate = "
        );
        let file = folder.join("gate.toml");
        std::fs::write(&file, format!("{text}0.01")).unwrap();
        let name = file.display().to_string();
        let gate = Running::tidegate(&["gate", "--config", &name, "--log", "warn"]);
        let admitted = curl(&["--fail", "--output", "/dev/null", gate.address("gate")]);
        assert!(admitted.status.success(), "{admitted:?}");
        let gate = Self { gate, file, text };
        wait_until("the first customer has gone", || {
            gate.gate.metric("tidegate_sessions_active") == 0.0
        });
        gate
    }

    /// One more is admitted: with another rate the budget begins anew.
    fn admit_one_more(&self) {
        std::fs::write(&self.file, format!("{}0.011", self.text)).unwrap();
        // SAFETY: the child runs, so the id is its own.
        unsafe { libc::kill(self.gate.id() as libc::pid_t, libc::SIGHUP) };
    }
}

/// A browser before a full gate.
struct Before {
    page: Client,
    full: FullGate,
    _driver: Driver,
    _folder: TempDir,
}

impl Before {
    /// `None` where no browser can be had.
    async fn gate_that(refuse: &str, http2: bool) -> Option<Self> {
        if no_browser_here() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let driver = chromedriver();
        let page = browser(&driver, &folder.path().join("profile")).await;
        let full = FullGate::start(folder.path(), refuse, http2);
        Some(Self { page, full, _driver: driver, _folder: folder })
    }
}

/// The open page is loaded with all its images, over this protocol.
async fn is_whole(page: &Client, protocol: &str) {
    let loaded = "return [document.readyState, [...document.images].filter(it => it.complete && \
         it.naturalWidth > 0).length, performance.getEntriesByType('navigation')[0].nextHopProtocol]";
    let begun = Instant::now();
    let seen = loop {
        let seen = page.execute(loaded, Vec::new()).await.unwrap();
        if seen[0] == "complete" {
            break seen;
        }
        assert!(begun.elapsed() < PATIENCE, "{seen}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(seen, json!(["complete", IMAGES, protocol]));
}

async fn waits_and_gets_the_whole_page(http2: bool, protocol: &str) {
    let Some(Before { page, full, _driver, _folder }) = Before::gate_that("page", http2).await
    else {
        return;
    };
    let gate = &full.gate;
    page.goto(gate.address("gate")).await.unwrap();
    arrive(&page, "You are in line").await;
    full.admit_one_more();
    arrive(&page, "All there").await;
    is_whole(&page, protocol).await;
    // Whatever the browser opened: its first two connections, its icon, what it asked for again.
    assert_eq!(gate.metric("tidegate_connections_total{class=\"new\",verdict=\"refused\"}"), 1.0);
    assert_eq!(gate.metric("tidegate_sessions_started_total"), 2.0, "who was first, and this one");
    page.close().await.unwrap();
}

#[tokio::test]
async fn chromium_waits_in_the_room_and_then_gets_a_page_of_forty_images_by_http1() {
    waits_and_gets_the_whole_page(false, "http/1.1").await;
}

#[tokio::test]
async fn chromium_waits_in_the_room_and_then_gets_a_page_of_forty_images_by_http2() {
    waits_and_gets_the_whole_page(true, "h2").await;
}

async fn once_it_is_not_reset_it_gets_the_whole_page(http2: bool, protocol: &str) {
    let Some(Before { page, full, _driver, _folder }) = Before::gate_that("reset", http2).await
    else {
        return;
    };
    let address = full.gate.address("gate");
    assert!(page.goto(address).await.is_err(), "it is refused");
    full.admit_one_more();
    let begun = Instant::now();
    while let Err(error) = page.goto(address).await {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    arrive(&page, "All there").await;
    is_whole(&page, protocol).await;
    page.close().await.unwrap();
}

#[tokio::test]
async fn with_resets_chromium_gets_a_page_of_forty_images_whole_or_not_at_all_by_http1() {
    once_it_is_not_reset_it_gets_the_whole_page(false, "http/1.1").await;
}

#[tokio::test]
async fn with_resets_chromium_gets_a_page_of_forty_images_whole_or_not_at_all_by_http2() {
    once_it_is_not_reset_it_gets_the_whole_page(true, "h2").await;
}
