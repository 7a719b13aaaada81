//! Works off the outbox of deposits, in the one process that has the lease. All of it is safe to
//! do twice, so a process whose lease has passed on does no harm.

use std::time::{Duration, Instant};
use tidegate_sitekit::log_once;

use tokio::time::sleep;

use super::processor::Processor;
use crate::error::{Error, Result};
use crate::protocol::back::{Right, TakeLease};
use crate::protocol::deposits::back::{ReadWishes, Wish};
use crate::rpc::call;
use tidegate_sitekit::link::Client;
use tidegate_sitekit::queue::{self, work_off};

/// Entries that are worked on at once: a processor that is slow holds up no more.
const AT_ONCE: usize = 16;
/// How long the lease lasts, and after how long it is renewed.
const LEASE: Duration = Duration::from_secs(3);
const RENEWED: Duration = Duration::from_secs(1);

/// The worker of this process.
#[derive(Clone)]
pub struct Worker {
    data: Client,
    processor: Processor,
    /// The name of this process.
    holder: String,
    /// When the lease was taken or renewed last.
    held: Option<Instant>,
}

impl Worker {
    /// A worker without the lease yet.
    pub fn new(data: Client, processor: Processor) -> Self {
        let holder = format!("{:032x}", rand::random::<u128>());
        Self { data, processor, holder, held: None }
    }

    /// Works until it is dropped.
    pub async fn run(self) {
        work_off(self, AT_ONCE).await;
    }

    async fn read(&mut self, free: usize) -> Result<Vec<Wish>> {
        if !self.has_lease().await? || free == 0 {
            return Ok(Vec::new());
        }
        // Those that are under way may be the oldest.
        let most = i64::try_from(2 * AT_ONCE).expect("a small number");
        Ok(call(&self.data, &ReadWishes { most }).await?.wishes)
    }

    async fn has_lease(&mut self) -> Result<bool> {
        if self.held.is_some_and(|at| at.elapsed() < RENEWED) {
            return Ok(true);
        }
        let for_ms = u64::try_from(LEASE.as_millis()).expect("a few seconds");
        let take = TakeLease { right: Right::Deposits, holder: self.holder.clone(), for_ms };
        let begun = Instant::now();
        self.held = call(&self.data, &take).await?.term.map(|_| begun);
        Ok(self.held.is_some())
    }
}

impl queue::Worker for Worker {
    type Entry = Wish;

    fn number(wish: &Wish) -> i64 {
        wish.number
    }

    async fn due(&mut self, free: usize) -> Vec<Wish> {
        self.read(free).await.unwrap_or_else(|error| {
            self.held = None;
            log(&error);
            Vec::new()
        })
    }

    async fn work(&self, wish: Wish) {
        if let Err(error) = self.processor.work(&wish).await {
            log(&error);
            // It is due still: the processor is not asked over and over.
            sleep(RENEWED).await;
        }
    }

    async fn woken(&self) {
        self.processor.woken().await;
    }
}

fn log(error: &Error) {
    let cause = match error {
        Error::Refused(problem) => format!("{}: {}", problem.what, problem.why.join(" ")),
        Error::Outage(outage) => outage.cause.clone(),
    };
    log_once!(warn by &cause, cause, "deposits wait for the data tier");
}
