//! Answers requests from a directory.

use crate::config::Directory;
use crate::connection::exchange::Exchange;
use crate::static_tier::answer::Answer;
use crate::static_tier::body::FileBody;
use crate::static_tier::cache::{FileCache, OnDisk};
use crate::static_tier::coding::Accepted;
use crate::static_tier::cookie;
use crate::static_tier::disk::Disk;
use crate::static_tier::file::{Content, StaticFile};
use crate::static_tier::lookup::{Found, Search};
use crate::telemetry::clock::{self, unix_now};
use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderValue, LAST_MODIFIED, VARY,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const BYTES: HeaderValue = HeaderValue::from_static("bytes");

/// The static tier of one route, on one core.
#[derive(Debug)]
pub struct StaticTier {
    directory: Directory,
    path: Arc<Path>,
    cache: Rc<FileCache>,
    disk: Rc<Disk>,
    interval: Duration,
}

/// The body of a response.
pub enum Body {
    /// In memory, or none.
    Memory(Bytes),
    /// In a file.
    File(FileBody),
}

/// A name of a file that is asked for, in a variant or not.
struct Asked<'n> {
    /// The folder of the variant; empty for none.
    variant: String,
    name: &'n [u8],
}

impl StaticTier {
    /// A tier with this directory, which keeps files for so long before it checks them.
    pub fn new(
        directory: &Directory,
        cache: Rc<FileCache>,
        disk: Rc<Disk>,
        interval: Duration,
    ) -> Self {
        let path = Arc::from(directory.path.as_path());
        Self { directory: directory.clone(), path, cache, disk, interval }
    }

    /// The name below the directory that a request asks for; none if it is for the upstream in any
    /// case: by its method, its query, or its path.
    pub fn name_of<'r>(&self, request: &'r Parts) -> Option<Cow<'r, [u8]>> {
        let reads = request.method == Method::GET || request.method == Method::HEAD;
        if !reads || request.uri.query().is_some() {
            return None;
        }
        crate::path::below_a_directory(request.uri.path())
    }

    /// The response to a request for this name; none where there is no such file, and where the
    /// disk does not answer in time: the request is for the upstream then.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub async fn answer(
        &self,
        request: &Parts,
        name: &[u8],
        exchange: &Exchange,
    ) -> io::Result<Option<Response<Body>>> {
        let cookie = self.directory.variant_cookie.as_deref();
        let variant = cookie.and_then(|cookie| {
            Some(format!("@{cookie}={}/", cookie::variant(&request.headers, cookie)?))
        });
        for variant in variant.into_iter().chain([String::new()]) {
            match self.find(Asked { variant, name }, exchange).await? {
                OnDisk::File(file) => return Ok(Some(self.response(request, &file))),
                OnDisk::Nothing => {}
                // Nothing was rendered for this customer, whose page may be another one.
                OnDisk::NoVariant => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Searches on the disk, off the core's thread; none where that takes too long.
    async fn search(&self, search: Search, exchange: &Exchange) -> Option<io::Result<Found>> {
        exchange.lookup_begins();
        let mut found = pin!(self.disk.work(move || search.run()));
        let found = poll_fn(|cx| match found.as_mut().poll(cx) {
            Poll::Ready(found) => Poll::Ready(Some(found)),
            Poll::Pending if exchange.lookup_is_late() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let found = found.await;
        if found.is_none() {
            self.disk.note_hanging();
        }
        found
    }

    async fn find(&self, asked: Asked<'_>, exchange: &Exchange) -> io::Result<OnDisk> {
        let key = [self.path.as_os_str().as_bytes(), b"\0", asked.variant.as_bytes(), asked.name];
        let key = key.concat();
        let former = match self.cache.get(&key, clock::now(), self.interval) {
            Some((entry, false)) => return Ok(entry.found),
            Some((entry, true)) => entry.found,
            None => OnDisk::Nothing,
        };
        if self.disk.hangs() {
            return Ok(former);
        }
        self.cache.make_room();
        let search = Search {
            directory: self.path.clone(),
            variant: asked.variant,
            name: asked.name.to_vec(),
            known: former.file().map(|file| file.stamps),
            memory: self.cache.memory().clone(),
            most: self.cache.most(),
            largest: self.cache.largest(),
        };
        let Some(found) = self.search(search, exchange).await else { return Ok(former) };
        let now = clock::now();
        let found = match found {
            Ok(Found::Same) => {
                self.cache.confirm(&key, now);
                return Ok(former);
            }
            Ok(Found::File(file)) => Ok(OnDisk::File(Rc::from(file))),
            Ok(Found::Nothing) => Ok(OnDisk::Nothing),
            Ok(Found::NoVariant) => Ok(OnDisk::NoVariant),
            Err(error) => Err(error),
        };
        let kept = found.as_ref().map_or(OnDisk::Nothing, OnDisk::clone);
        self.cache.put(key.into(), kept, now);
        found
    }

    fn response(&self, request: &Parts, file: &StaticFile) -> Response<Body> {
        let accepted = Accepted::of(&request.headers);
        let coding = accepted.best(|coding| file.form(coding).is_some());
        let form = file.form(coding).expect("a form that is there was chosen");
        let answer = Answer::to(&request.method, &request.headers, file, form, unix_now());
        let mut response = Response::new(Body::Memory(Bytes::new()));
        let headers = response.headers_mut();
        *headers = HeaderMap::with_capacity(12);
        headers.insert(ETAG, form.etag.clone());
        headers.insert(CACHE_CONTROL, self.directory.cache_control.clone());
        if let Some(vary) = self.vary(file) {
            headers.insert(VARY, vary);
        }
        let described = matches!(answer, Answer::Whole | Answer::Part(_));
        if described {
            headers.insert(CONTENT_TYPE, file.content_type.clone());
            headers.insert(LAST_MODIFIED, file.last_modified.clone());
            headers.insert(ACCEPT_RANGES, BYTES);
            if let Some(name) = coding.name() {
                headers.insert(CONTENT_ENCODING, name);
            }
        }
        let (status, range) = match answer {
            Answer::Whole => (StatusCode::OK, Some(0..form.length)),
            Answer::Part(range) => {
                let (from, to) = (range.start, range.end - 1);
                headers.insert(CONTENT_RANGE, text(&format!("bytes {from}-{to}/{}", form.length)));
                (StatusCode::PARTIAL_CONTENT, Some(range))
            }
            Answer::NotModified => (StatusCode::NOT_MODIFIED, None),
            Answer::OtherVersion => (StatusCode::PRECONDITION_FAILED, None),
            Answer::NoSuchRange => {
                headers.insert(CONTENT_RANGE, text(&format!("bytes */{}", form.length)));
                (StatusCode::RANGE_NOT_SATISFIABLE, None)
            }
        };
        match range {
            Some(range) => {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
                if request.method != Method::HEAD {
                    *response.body_mut() = match &form.content {
                        Content::Memory(bytes) => {
                            Body::Memory(bytes.slice(range.start as usize..range.end as usize))
                        }
                        Content::Disk(file) => {
                            let disk = self.disk.clone();
                            Body::File(FileBody::new(file.clone(), range.start, range.end, disk))
                        }
                    };
                }
            }
            None if status == StatusCode::NOT_MODIFIED => {}
            None => drop(headers.insert(CONTENT_LENGTH, HeaderValue::from(0))),
        }
        *response.status_mut() = status;
        response
    }

    /// The fields of a request on which a response depends.
    fn vary(&self, file: &StaticFile) -> Option<HeaderValue> {
        Some(HeaderValue::from_static(
            match (file.is_negotiated(), self.directory.variant_cookie.is_some()) {
                (true, true) => "accept-encoding, cookie",
                (true, false) => "accept-encoding",
                (false, true) => "cookie",
                (false, false) => return None,
            },
        ))
    }
}

fn text(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("digits and dashes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::connection::deadlines::RequestDeadlines;
    use crate::connection::exchange::{Activity, Expiry};
    use crate::connection::state::ConnectionState;
    use crate::telemetry::labels::Class;
    use http::Request;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::time::Instant;
    use tokio::task::{LocalSet, spawn_local, yield_now};

    fn tier(root: &Path, disk: &Rc<Disk>) -> StaticTier {
        let directory = Directory {
            path: root.to_owned(),
            variant_cookie: None,
            cache_control: HeaderValue::from_static("no-cache"),
        };
        StaticTier::new(&directory, Rc::new(FileCache::new(1 << 20)), disk.clone(), Duration::ZERO)
    }

    fn state() -> ConnectionState {
        let config = Config::from_toml("[upstream]\nurl = \"http://a\"", "t").unwrap();
        let deadlines = RequestDeadlines::of(&config);
        ConnectionState::new(Class::New, deadlines, Arc::default(), Instant::now())
    }

    async fn once<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        let mut future = future;
        poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
    }

    #[tokio::test]
    async fn a_disk_that_hangs_delays_one_request_and_then_nobody() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("known"), "known").unwrap();
        std::fs::write(root.path().join("new"), "new").unwrap();
        let (release, wait) = channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let local = LocalSet::new();
        let test = async {
            let disk = Rc::<Disk>::default();
            let (tier, state) = (tier(root.path(), &disk), state());
            let exchange = state.request(false);
            let request = Request::get("/").body(()).unwrap().into_parts().0;
            let found = tier.answer(&request, b"known", &exchange).await.unwrap();
            assert_eq!(found.unwrap().status(), StatusCode::OK);

            // All places are taken by work that does not end.
            let hanging: Vec<_> = (0..40)
                .map(|_| {
                    let wait = wait.clone();
                    let work = disk.work(move || {
                        let _ = wait.lock().unwrap().recv();
                        Ok(())
                    });
                    spawn_local(work)
                })
                .collect();
            yield_now().await;
            clock::read();
            let exchange = state.request(false);
            let mut answer = pin!(tier.answer(&request, b"new", &exchange));
            assert!(once(answer.as_mut()).await.is_pending());
            assert_eq!(state.activity(), Activity::Lookup);
            assert_eq!(exchange.counters.at_upstream.get(), 0, "it is with no upstream");
            assert_eq!(state.expire(false), Expiry::Answer);
            let late = once(answer.as_mut()).await;
            assert!(matches!(late, Poll::Ready(Ok(None))), "it is for the upstream");

            // Whoever comes now does not wait, and what is in memory is served.
            let exchange = state.request(false);
            let mut answer = pin!(tier.answer(&request, b"new", &exchange));
            assert!(matches!(once(answer.as_mut()).await, Poll::Ready(Ok(None))));
            let mut answer = pin!(tier.answer(&request, b"known", &exchange));
            assert!(matches!(once(answer.as_mut()).await, Poll::Ready(Ok(Some(_)))));
            drop(release);
            for work in hanging {
                let _ = work.await;
            }
        };
        local.run_until(test).await;
    }
}
