//! Workload models, arrivals, the customer and the recorder.
//!
//! Customers arrive by a model and its schedule ([`Arrivals`]), each runs a session over a
//! transition table ([`Scenario`]) on a persistent HTTPS connection, and what
//! happens to them is recorded from the intended start. The three compose: the
//! schedule only says when, the customer only what and how, and the recorder
//! only folds the events that customers leave behind.
//!
//! ```no_run
//! use tidegate_load::{Arrivals, Plan, Scenario, run};
//!
//! let scenario = Scenario::built_in("auction-bidding").unwrap();
//! let mut plan = Plan::new(scenario, "https://127.0.0.1:8443");
//! plan.arrivals = Some(Arrivals::poisson(20.0));
//! plan.insecure = true;
//! let summary = run(plan, &mut |snapshot| {
//!     tidegate_load::line(snapshot).iter().for_each(|line| println!("{line}"));
//! })?;
//! println!("{:.1} sessions/s completed", summary.completed_per_s);
//! # Ok::<(), tidegate_load::Error>(())
//! ```

mod algorithms;
pub mod arrivals;
mod certificate;
mod client;
mod clock;
pub mod compare;
mod cookies;
pub mod css;
mod customer;
mod deadline;
pub mod driver;
mod error;
mod html;
mod lines;
mod machine;
mod merge;
mod message;
pub mod metrics;
pub mod outcome;
mod part;
mod plan;
mod recorder;
mod repeat;
mod request;
mod run;
mod scan;
pub mod scenario;
mod source;
pub mod summary;
pub mod thresholds;
mod values;
mod walk;
mod worker;

pub use algorithms::{Group, Suite, UnknownName};
pub use arrivals::Arrivals;
pub use certificate::{ClientCertificate, WrongCertificate};
pub use client::trusted_roots;
pub use error::Error;
pub use lines::{line, report};
pub use merge::live::Together;
pub use merge::{Missing, Portion, merge, merge_what_is_left};
pub use part::{Part, start_at};
pub use plan::{
    Close, Connections, Http, Keep, Plan, Sources, Stop, TicketsOf, TlsRules, TlsVersions,
};
pub use recorder::join::{join_lines, join_parquet};
pub use recorder::seconds::write_seconds;
pub use repeat::{Repeated, RepeatedFigure};
pub use run::{run, run_when};
pub use scenario::Scenario;
pub use summary::{Point, RunStage, Snapshot, Summary, Totals};
pub use tidegate_config::{Mistake, Mistakes};

/// The generator of every random choice: named, so that a seed gives the same
/// sessions on every machine and in every version.
pub type Rng = rand::rngs::Xoshiro256PlusPlus;
