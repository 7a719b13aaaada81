//! A site that answers as a test says, and the files that are rendered from it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tidegate_render::{Error, Options, Summary};
use url::Url;

/// A request, as far as tests look at it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Path and query.
    pub path: String,
    /// Header fields in lower case.
    pub fields: BTreeMap<String, String>,
}

/// An answer: status, header fields, body.
pub type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);
type Answers = dyn Fn(&Request) -> Answer + Send + Sync;

/// A page.
pub fn page(text: &str) -> Answer {
    (200, vec![("content-type", "text/html; charset=utf-8".into())], text.into())
}

/// An answer of another type.
pub fn file(content_type: &str, bytes: &[u8]) -> Answer {
    (200, vec![("content-type", content_type.into())], bytes.to_vec())
}

/// Another status.
pub fn status(status: u16) -> Answer {
    (status, vec![("content-type", "text/html".into())], b"<a href=/nowhere>".to_vec())
}

/// The answer with another header field.
pub fn with(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    answer.1.push((name, value.into()));
    answer
}

/// A site on a port of the system's choice. It answers until the process ends.
pub struct Site {
    pub url: Url,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

impl Site {
    pub fn start(answers: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let answers: Arc<Answers> = Arc::new(answers);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, seen) = (answers.clone(), seen.clone());
                std::thread::spawn(move || answer(&stream, &*answers, &seen));
            }
        });
        Self { url, requests }
    }

    /// The pages that were requested since the last look, in order of their paths.
    pub fn requested(&self) -> Vec<String> {
        let mut paths: Vec<String> =
            self.requests.lock().unwrap().drain(..).map(|it| it.path).collect();
        paths.sort();
        paths
    }

    /// Options for the site, as fast as the machine is.
    pub fn options(&self, out: &Path) -> Options {
        let options = Options::new(vec![self.url.clone()], out.to_owned());
        Options { rate: 1e6, ..options }
    }
}

fn answer(stream: &TcpStream, answers: &Answers, seen: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut request = Request::default();
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        request.path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some((name, value)) => {
                    request.fields.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                None => break,
            }
        }
        seen.lock().unwrap().push(request.clone());
        let (status, fields, body) = answers(&request);
        let mut head = format!("HTTP/1.1 {status} X\r\n");
        for (name, value) in &fields {
            head += &format!("{name}: {value}\r\n");
        }
        if !fields.iter().any(|it| it.0 == "content-length") {
            head += &format!("content-length: {}\r\n", if status == 304 { 0 } else { body.len() });
        }
        // A client that has enough closes the connection.
        if writer.write_all((head + "\r\n").as_bytes()).is_err() || writer.write_all(&body).is_err()
        {
            return;
        }
    }
}

/// Runs to its end.
pub fn render(options: &Options) -> Result<Summary, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(tidegate_render::render(options, &mut ()))
}

/// The files of a folder with their contents; compressed variants without.
pub fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".br") && !name.ends_with(".gz") {
                let bytes = std::fs::read(&path).unwrap();
                files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    files
}

/// Serves the files of a folder as any server does: by path and extension.
pub fn serve(folder: &Path) -> Site {
    let folder = folder.to_owned();
    Site::start(move |request| {
        let path = request.path.split('?').next().unwrap();
        let name = percent_encoding::percent_decode_str(path).decode_utf8().unwrap();
        let mut at = folder.join(name.trim_start_matches('/'));
        if at.is_dir() {
            at = at.join("index.html");
        }
        let Ok(bytes) = std::fs::read(&at) else { return status(404) };
        let content_type = match at.extension().and_then(|it| it.to_str()).unwrap_or_default() {
            "html" | "htm" => "text/html",
            "css" => "text/css",
            "js" => "text/javascript",
            "png" => "image/png",
            "mp4" => "video/mp4",
            "svg" => "image/svg+xml",
            "txt" => "text/plain",
            _ => "application/octet-stream",
        };
        file(content_type, &bytes)
    })
}
