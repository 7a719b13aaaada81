//! Watches the parts that a gate cannot do without. If one of them panics or ends, the gate
//! ends with its reason: a gate without its dispatcher, for instance, would accept
//! connections and never admit one.

use crate::error::Error;
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use tokio::sync::{mpsc, watch};

/// A part without which a gate does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The thread of a core.
    Core,
    /// The accept loop of a listener.
    AcceptLoop,
    /// The dispatcher of a core's admission queue.
    Dispatcher,
    /// The upkeep of a core.
    CoreUpkeep,
    /// The control loop.
    ControlLoop,
    /// The admin pages.
    Admin,
    /// The upkeep of ticket keys and certificates.
    FileUpkeep,
    /// The thread that writes the access log.
    AccessLog,
}

impl Component {
    /// Every part.
    pub const ALL: [Self; 8] = [
        Self::Core,
        Self::AcceptLoop,
        Self::Dispatcher,
        Self::CoreUpkeep,
        Self::ControlLoop,
        Self::Admin,
        Self::FileUpkeep,
        Self::AccessLog,
    ];

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "the thread of a core",
            Self::AcceptLoop => "an accept loop",
            Self::Dispatcher => "a dispatcher",
            Self::CoreUpkeep => "the upkeep of a core",
            Self::ControlLoop => "the control loop",
            Self::Admin => "the admin pages",
            Self::FileUpkeep => "the upkeep of files",
            Self::AccessLog => "the access log",
        }
    }

    fn failed(self, reason: String) -> Error {
        Error::Failed { part: self.name(), reason }
    }
}

/// How a part ended.
#[derive(Debug)]
pub enum Report {
    /// A core has drained.
    Drained,
    /// A part failed: the gate must end.
    Failed(Error),
}

/// Reports how parts end. Every part has a copy.
#[derive(Clone, Debug)]
pub struct Supervisor {
    reports: mpsc::UnboundedSender<Report>,
    fault: Option<InjectedFault>,
}

/// The reports of a gate's parts.
pub type Reports = mpsc::UnboundedReceiver<Report>;

impl Supervisor {
    /// A supervisor that injects a fault, if one is given, and the reports that it will make.
    pub fn new(fault: Option<InjectedFault>) -> (Self, Reports) {
        let (reports, receiver) = mpsc::unbounded_channel();
        (Self { reports, fault }, receiver)
    }

    /// Runs a part that has no end of its own. Dropped before its end, it reports nothing.
    pub async fn watch(self, part: Component, work: impl Future<Output = ()>) {
        let mut work = pin!(self.with_fault(part, work));
        let result =
            poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(())) => Poll::Ready(part.failed("ended".into())),
                Err(panic) => Poll::Ready(part.failed(reason(&*panic))),
            });
        let failed = result.await;
        self.report(Report::Failed(failed));
    }

    /// Runs the work of a thread, and reports its failure.
    pub fn run<T>(&self, part: Component, work: impl FnOnce() -> std::io::Result<T>) -> Option<T> {
        let failed = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(error)) => part.failed(format!("failed: {error}")),
            Err(panic) => part.failed(reason(&*panic)),
        };
        self.report(Report::Failed(failed));
        None
    }

    /// Reports. The gate may be gone.
    pub fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }

    /// Panics if the injected fault of this part has struck: for a part that is no task.
    pub fn check_fault(&self, part: Component) {
        let fault = self.fault.as_ref().filter(|fault| fault.part == part);
        if fault.is_some_and(|fault| *fault.strikes.borrow()) {
            panic!("injected fault");
        }
    }

    /// Runs a part, and has it panic if the injected fault says so.
    pub async fn with_fault<T>(&self, part: Component, work: impl Future<Output = T>) -> T {
        let Some(mut fault) = self.fault.clone().filter(|fault| fault.part == part) else {
            return work.await;
        };
        tokio::select! {
            biased;
            Ok(_) = fault.strikes.wait_for(|strikes| *strikes) => panic!("injected fault"),
            done = work => done,
        }
    }
}

/// Makes a part panic: for tests of the supervision.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct InjectedFault {
    part: Component,
    strikes: watch::Receiver<bool>,
}

impl InjectedFault {
    /// A fault of a part, and the switch that makes it happen.
    pub fn of(part: Component) -> (Self, watch::Sender<bool>) {
        let (switch, strikes) = watch::channel(false);
        (Self { part, strikes }, switch)
    }
}

/// The reason of a panic in words.
pub fn reason(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", message.unwrap_or("without a message"))
}
