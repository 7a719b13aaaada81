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

pub mod arrivals;
mod client;
pub mod compare;
mod error;
mod html;
mod merge;
pub mod outcome;
mod output;
mod plan;
mod recorder;
pub mod result;
mod run;
pub mod scenario;
mod session;

pub use arrivals::Arrivals;
pub use client::tls::algorithms::{Group, Suite, UnknownName};
pub use client::tls::certificate::{ClientCertificate, WrongCertificate};
pub use client::trusted_roots;
pub use compare::repeat::{Repeated, RepeatedFigure};
pub use error::Error;
pub use html::css;
pub use merge::live::Together;
pub use merge::{Missing, merge, merge_what_is_left};
pub use output::metrics;
pub use output::text::{line, report};
pub use plan::shard::{Part, start_at};
pub use plan::{
    Close, Connections, Http, Keep, Plan, Sources, Stop, TicketsOf, TlsRules, TlsVersions,
};
pub use recorder::join::{join_lines, join_parquet};
pub use recorder::seconds::write_seconds;
pub use result::shard::Portion;
pub use result::summary::{Point, RunStage, Snapshot, Summary, Totals};
pub use result::{saturation as driver, summary};
pub use run::{run, run_when};
pub use scenario::Scenario;
pub use scenario::thresholds;
pub use tidegate_config::{Mistake, Mistakes};

/// The generator of every random choice: named, so that a seed gives the same
/// sessions on every machine and in every version.
pub type Rng = rand::rngs::Xoshiro256PlusPlus;
