//! Requests the pages of a site, from links to links.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use tidegate_sitekit::backoff::Backoff;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use url::Url;

use crate::charset;
use crate::error::{Error, Result};
use crate::fetch::{Client, Reply};
use crate::html::{self, Source};
use crate::key::Key;
use crate::media::Kind;
use crate::options::Options;
use crate::outcome::{Body, Entry, Outcome, Why};
use crate::robots::Robots;
use crate::store::Store;

/// Most attempts at one page while the site is busy.
const ATTEMPTS: u32 = 5;
/// Most attempts at one page that has no answer.
const UNANSWERED: u32 = 3;
/// So many requests in a row without an answer end the run: the site is down.
const SILENT: u32 = 20;
/// Longest pause that the site may ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// Pauses where it does not say how long.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// So many pages that are not requested are remembered for each that is.
const REMEMBERED: usize = 4;
/// Time between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What a caller watches and decides during a run.
pub trait Watch {
    /// The run has to end.
    fn is_stopped(&self) -> bool {
        false
    }

    /// So many answers have come, and so many pages are known that wait.
    fn progress(&mut self, answers: usize, waiting: usize) {
        let _ = (answers, waiting);
    }
}

/// Watches nothing.
impl Watch for () {}

/// The pages of one variant, and what became of them.
#[derive(Debug, Default)]
pub struct Seen {
    /// The value of the cookie.
    pub variant: Option<String>,
    /// What became of each page.
    pub outcomes: BTreeMap<Key, Outcome>,
    /// Links to pages that are not remembered one by one.
    pub beyond: u64,
}

/// A page to request.
#[derive(Clone, Debug)]
struct Job {
    key: Key,
    depth: u32,
    attempts: u32,
}

/// Requests pages, within the limits of the options.
pub struct Crawl<'c, W> {
    options: &'c Options,
    client: Client,
    site: Url,
    store: &'c mut Store,
    robots: Robots,
    watch: &'c mut W,
    deadline: Option<Instant>,
    next: Instant,
    /// Requests in a row without an answer.
    silent: u32,
    /// Answers so far.
    pub answers: usize,
}

/// The pages of one variant while they are requested.
struct Pass<'p> {
    seen: Seen,
    known: HashSet<Key>,
    queue: VecDeque<Job>,
    requested: usize,
    /// Pages of another pass that are the same in this one.
    shared: &'p dyn Fn(&Key) -> bool,
}

impl<'c, W: Watch> Crawl<'c, W> {
    /// Begins: the clock for the longest time runs.
    pub fn new(
        options: &'c Options,
        client: Client,
        site: &Url,
        robots: Robots,
        store: &'c mut Store,
        watch: &'c mut W,
    ) -> Self {
        let now = Instant::now();
        let deadline = options.longest.map(|it| now + it);
        let site = site.clone();
        let (next, silent, answers) = (now, 0, 0);
        Self { options, client, site, store, robots, watch, deadline, next, silent, answers }
    }

    /// Requests these pages and all that they lead to, with a value of the cookie. Pages that are
    /// `shared` with another pass are not requested again.
    ///
    /// # Errors
    /// A file cannot be written, or the run has to end.
    pub async fn pass(
        &mut self,
        variant: Option<&str>,
        roots: impl IntoIterator<Item = Key>,
        shared: &dyn Fn(&Key) -> bool,
    ) -> Result<Seen> {
        let seen = Seen { variant: variant.map(str::to_owned), ..Seen::default() };
        let known = HashSet::new();
        let mut pass = Pass { seen, known, queue: VecDeque::new(), requested: 0, shared };
        for key in roots {
            self.find(&mut pass, key, 0, true);
        }
        let mut tasks: JoinSet<(Job, Option<Body>, Reply)> = JoinSet::new();
        loop {
            if self.watch.is_stopped() {
                return Err(Error::Stopped(self.answers));
            }
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                while let Some(job) = pass.queue.pop_front() {
                    let outcome = self.unreached(&job, variant, Why::Time);
                    pass.seen.outcomes.insert(job.key, outcome);
                }
            }
            let is_free = tasks.len() < self.options.concurrency.max(1);
            if is_free && let Some(job) = pass.queue.pop_front() {
                if let Some(entry) = self.store.take_resumed(&job.key, variant) {
                    let bytes = match &entry.outcome {
                        Outcome::Body(body) => Some(Bytes::from(self.store.body(body)?)),
                        _ => None,
                    };
                    self.settle(&mut pass, job, entry.outcome, bytes);
                    continue;
                }
                if self.pause().await {
                    pass.queue.push_front(job);
                    continue;
                }
                let before = self.store.before(&job.key, variant).cloned();
                let (client, variant) = (self.client.clone(), variant.map(str::to_owned));
                tasks.spawn(async move {
                    let reply = client.get(&job.key, variant.as_deref(), before.as_ref()).await;
                    (job, before, reply)
                });
                continue;
            }
            let next = tokio::time::timeout(LOOK, tasks.join_next());
            match next.await {
                Ok(None) => return Ok(pass.seen),
                Ok(Some(Ok((job, before, reply)))) => {
                    self.answers += 1;
                    self.watch.progress(self.answers, pass.queue.len());
                    self.take(&mut pass, job, before, reply)?;
                }
                Ok(Some(Err(error))) => std::panic::resume_unwind(error.into_panic()),
                Err(_) => {}
            }
        }
    }

    /// Keeps to the rate. Whether the time was not over yet when there was something to look at.
    async fn pause(&mut self) -> bool {
        let now = Instant::now();
        if self.next > now + LOOK {
            sleep_until(now + LOOK).await;
            return true;
        }
        sleep_until(self.next).await;
        let own = Duration::from_secs_f64(1.0 / self.options.rate);
        let between = own.max(self.robots.delay.unwrap_or_default());
        self.next = self.next.max(now) + between;
        false
    }

    fn take(
        &mut self,
        pass: &mut Pass<'_>,
        mut job: Job,
        before: Option<Body>,
        reply: Reply,
    ) -> Result<()> {
        let variant = pass.seen.variant.clone();
        let mut bytes = None;
        if !matches!(reply, Reply::Skipped(Why::NoAnswer(_))) {
            self.silent = 0;
        }
        let outcome = match reply {
            Reply::Body(body, content) => {
                self.store.keep(&body.hash, &content)?;
                bytes = Some(content);
                Outcome::Body(body)
            }
            Reply::Unchanged => match &before {
                Some(body) => {
                    bytes = Some(self.store.body(body)?.into());
                    Outcome::Body(Body { kept: false, ..body.clone() })
                }
                None => Outcome::Skipped(Why::Status(304)),
            },
            Reply::Moved { to, temporary: None } => {
                if to.origin() == self.site.origin() {
                    Outcome::Moved { to: to.into() }
                } else {
                    Outcome::Skipped(Why::Leaves)
                }
            }
            Reply::Moved { to, temporary: Some(status) } => {
                // A root says where to begin; other links stay as they are.
                if job.depth == 0 && to.origin() == self.site.origin() {
                    self.find(pass, Key::of(&to), 0, true);
                }
                Outcome::Skipped(Why::Redirects(status))
            }
            Reply::Later(status, after) => {
                job.attempts += 1;
                let pause = after.unwrap_or_else(|| BACKOFF.pause(job.attempts));
                if job.attempts < ATTEMPTS && pause <= LONGEST_PAUSE {
                    self.next = self.next.max(Instant::now() + pause);
                    pass.queue.push_front(job);
                    return Ok(());
                }
                self.unreached(&job, variant.as_deref(), Why::Busy(status))
            }
            Reply::Skipped(why @ Why::NoAnswer(_)) => {
                job.attempts += 1;
                self.silent += 1;
                if self.silent >= SILENT {
                    let url = job.key.on(&self.site);
                    return Err(Error::Site(format!(
                        "{url}: {why}, as {SILENT} requests in a row; the pages that are there were not touched, and the next run goes on from here"
                    )));
                }
                if job.attempts < UNANSWERED {
                    self.next = self.next.max(Instant::now() + BACKOFF.pause(job.attempts) / 4);
                    pass.queue.push_back(job);
                    return Ok(());
                }
                self.unreached(&job, variant.as_deref(), why)
            }
            Reply::Skipped(why) => self.unreached(&job, variant.as_deref(), why),
        };
        if let (Outcome::Body(Body { kept: true, .. }), None) = (&outcome, &bytes)
            && let Some(body) = before
        {
            bytes = Some(self.store.body(&body)?.into());
        }
        let entry = Entry { key: job.key.clone(), variant, outcome: outcome.clone() };
        self.store.note(&entry)?;
        self.settle(pass, job, outcome, bytes);
        Ok(())
    }

    /// What becomes of a page that stays dynamic: if that may be over soon, the page of the last
    /// run is still good.
    fn unreached(&self, job: &Job, variant: Option<&str>, why: Why) -> Outcome {
        match self.store.before(&job.key, variant) {
            Some(before) if why.is_passing() => {
                Outcome::Body(Body { kept: true, ..before.clone() })
            }
            _ => Outcome::Skipped(why),
        }
    }

    /// A page has its outcome; its links are looked at.
    fn settle(&mut self, pass: &mut Pass<'_>, job: Job, outcome: Outcome, bytes: Option<Bytes>) {
        let mut outcome = outcome;
        if let (Outcome::Body(body), Some(bytes)) = (&outcome, bytes) {
            let url = job.key.on(&self.site);
            let mut found = Vec::new();
            links(&url, body, &bytes, &mut |link| found.push(Key::of(link)));
            for key in found {
                self.find(pass, key, job.depth + 1, false);
            }
        }
        if let Outcome::Moved { to } = &outcome
            && let Ok(to) = Url::parse(to)
        {
            self.find(pass, Key::of(&to), job.depth, job.depth == 0);
        }
        if matches!(outcome, Outcome::Body(_)) && !self.options.scope.has(job.key.as_str()) {
            outcome = Outcome::Skipped(Why::OutOfScope);
        }
        pass.seen.outcomes.insert(job.key, outcome);
    }

    /// A page was found. A root is requested though it is out of scope: it leads to others.
    fn find(&self, pass: &mut Pass<'_>, key: Key, depth: u32, is_root: bool) {
        if pass.known.contains(&key) || (pass.shared)(&key) {
            return;
        }
        if pass.known.len() >= self.options.max_pages.saturating_mul(REMEMBERED) {
            pass.seen.beyond += 1;
            return;
        }
        pass.known.insert(key.clone());
        let path = key.as_str();
        let why = if !is_root && !self.options.scope.has(path) {
            Some(Why::OutOfScope)
        } else if !self.options.ignore_robots && !self.robots.allow(path) {
            Some(Why::Robots)
        } else if depth > self.options.max_depth {
            Some(Why::Depth)
        } else if pass.requested >= self.options.max_pages {
            Some(Why::MaxPages)
        } else {
            None
        };
        match why {
            Some(why) => _ = pass.seen.outcomes.insert(key, Outcome::Skipped(why)),
            None => {
                pass.requested += 1;
                pass.queue.push_back(Job { key, depth, attempts: 0 });
            }
        }
    }
}

/// Calls `found` for each link of a page or style sheet to its site.
fn links(url: &Url, body: &Body, bytes: &[u8], found: &mut dyn FnMut(&Url)) {
    if body.kind == Kind::File {
        return;
    }
    let (text, encoding) = charset::decode(bytes, &body.content_type);
    let source = Source { url, address: None, encoding };
    let mut look = |link: &Url| {
        found(link);
        None
    };
    match body.kind {
        Kind::Page => drop(html::rewrite(source, &text, &mut look)),
        Kind::Style => drop(html::rewrite_css(source, &text, &mut look)),
        Kind::File => {}
    }
}
