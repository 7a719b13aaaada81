//! An upstream that notes what it gets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Answers every request with a short page, and then closes.
pub struct Upstream {
    pub url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    /// On a free port; ends with the process.
    pub fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// On this listener.
    pub fn on(listener: TcpListener) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let noted = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let noted = noted.clone();
                // A connection that only waits keeps no other from being heard.
                std::thread::spawn(move || answer(&stream, &noted));
            }
        });
        Self { url, heads }
    }

    /// Head and body of each request so far, in order of arrival.
    pub fn whole_requests(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The first line of each request so far, in order of arrival.
    pub fn requests(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        heads.iter().map(|head| head.lines().next().unwrap_or_default().to_owned()).collect()
    }
}

fn answer(stream: &TcpStream, noted: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let (head, body) = read_request(&mut reader);
    if head.is_empty() {
        return;
    }
    // Noted before the answer, and even when it is no whole head.
    noted.lock().unwrap().push(head + &String::from_utf8_lossy(&body));
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
    let _ = (&mut &*stream).write_all(page.as_bytes());
}

/// Head and body of a request, as far as they come: unread, a body would reset the
/// answer at the close that follows. One in chunks is not kept.
pub fn read_request(reader: &mut impl BufRead) -> (String, Vec<u8>) {
    let (mut head, mut body) = (String::new(), Vec::new());
    while !head.ends_with("\r\n\r\n") {
        match reader.read_line(&mut head) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let length = header(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    if header(&head, "transfer-encoding").is_some() {
        let mut line = String::new();
        while !line.ends_with("0\r\n\r\n") && reader.read_line(&mut line).is_ok_and(|n| n > 0) {}
    } else {
        let _ = reader.take(length).read_to_end(&mut body);
    }
    (head, body)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(named, _)| named.eq_ignore_ascii_case(name))?;
    Some(value.trim())
}
