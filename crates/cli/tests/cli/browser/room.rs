//! The pages of the waiting room as a browser shows them, whatever keeps the customer out.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::common::browser::{browser, chromedriver, look, no_browser_here};
use crate::common::upstream::read_request;
use crate::common::{Running, Text, curl, wait_until};

/// A service that is sold out for whoever asks for it.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // Who sends nothing delays nobody.
            std::thread::spawn(move || {
                let (head, _) = read_request(&mut BufReader::new(&stream));
                let closes = head.starts_with("GET /sold-out ");
                let field = if closes { "Tidegate-Queue: closed\r\n" } else { "" };
                let fields = format!("{field}Content-Length: 0\r\nConnection: close");
                let _ = write!(&mut &stream, "HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
            });
        }
    });
    url
}

/// A gate before it with these keys of `[admission]`.
fn gate(folder: &Path, keys: &str) -> Running {
    let (url, any) = (service(), "address = \"127.0.0.1:0\"");
    let text = format!(
        "[listen]\n{any}\n[admin]\n{any}\n[upstream]\nurl = \"{url}\"\n[admission]\n\
         room_share = 0.5\n{keys}\n"
    );
    let file = folder.join("gate.toml");
    std::fs::write(&file, text).unwrap();
    Running::tidegate(&["gate", "--config", &file.display().to_string(), "--log", "error"])
}

/// Keeps what a customer with these cookies is shown in a file, where it does not refresh. Whether it
/// has this heading.
fn shows(folder: &Path, gate: &Running, language: &str, heading: &str) -> bool {
    let jar = folder.join("cookies").display().to_string();
    let language = format!("Accept-Language: {language}");
    let output = curl(&[
        "--cookie",
        &jar,
        "--cookie-jar",
        &jar,
        "--header",
        "Accept: text/html",
        "--header",
        &language,
        gate.address("gate"),
    ]);
    std::fs::write(folder.join("page.html"), &output.stdout).unwrap();
    output.stdout_text().contains(&format!("<h1>{heading}</h1>"))
}

#[tokio::test]
async fn every_page_of_the_waiting_room_is_readable_in_both_schemes() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = chromedriver();
    let browser = browser(&driver, &folder.path().join("profile")).await;
    let full = "policy = \"static\"\nrate = 0.01\nhold_time = \"0s\"";
    for (name, keys, language, heading) in [
        ("maintenance", "maintenance = true", "en", "We will be back soon"),
        ("before", "opens = \"2100-01-01T00:00:00Z\"", "fr", "Le site ouvre bientôt"),
        ("closed", "policy = \"off\"", "es", "La cola está cerrada"),
        ("line", full, "de", "Sie stehen in der Warteschlange"),
        ("turn", full, "en", "It is your turn"),
    ] {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let gate = gate(&folder, keys);
        // Who comes first is admitted where anybody is.
        let path = if name == "closed" { "sold-out" } else { "" };
        let first = curl(&[&format!("{}/{path}", gate.address("gate"))]);
        assert!(first.status.success(), "{}", first.stderr_text());
        wait_until("the first has gone", || gate.metric("tidegate_sessions_active") == 0.0);
        wait_until(heading, || shows(&folder, &gate, language, heading));
        browser.goto(&format!("file://{}/page.html", folder.display())).await.unwrap();
        look(&browser, name).await;
    }
    browser.close().await.unwrap();
}
