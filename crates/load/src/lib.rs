//! The load generator: workload models, arrivals, customers, and the recorder.
//!
//! Customers arrive by a model and its schedule ([`Arrivals`]). Each runs a session over a
//! table of transitions ([`Scenario`]) on a persistent HTTPS connection. Every event is
//! recorded with its time; response times count from the intended start.
//!
//! From bottom to top; a module imports only from those above it in this list:
//!
//! | module | content |
//! | --- | --- |
//! | `html` | links, forms and elements of pages |
//! | `fnv` | a hash that is the same on every machine |
//! | `har` | the recordings of browsers |
//! | `client` | connections: TCP, TLS with tickets, HTTP/1.1 and HTTP/2 |
//! | [`feeder`] | files of values for sessions |
//! | [`access_log`] | the requests of web servers' access logs |
//! | [`arrivals`] | when sessions begin |
//! | [`scenario`] | what customers do: pages, transitions, think times, patience |
//! | [`import`] | a scenario from a browser's recording |
//! | [`observed`] | what the customers of an access log did |
//! | `plan` | one run: scenario, target, durations, resources |
//! | [`result`] | the data of a result |
//! | `output` | a result as text and as metrics |
//! | `recorder` | from events to results and files |
//! | `session` | one customer's session |
//! | `merge` | adds up the shards of a test |
//! | [`fleet`] | one test that several machines share: its messages |
//! | [`compare`] | significant differences of runs |
//! | `run` | runs a plan |
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

pub mod access_log;
pub mod arrivals;
mod client;
pub mod compare;
mod counted;
mod error;
pub mod feeder;
mod file_mistake;
pub mod fleet;
mod fnv;
mod har;
mod html;
pub mod import;
mod merge;
pub mod observed;
pub mod outcome;
mod output;
mod plan;
mod recorder;
pub mod result;
mod rng;
mod run;
pub mod scenario;
mod session;
pub mod totals;
mod word;

pub use arrivals::Arrivals;
pub use client::allow::Allow;
pub use client::connections::{Close, Connections, Http, KeepAlive, Sources};
pub use client::resolve::{Resolve, addresses_of};
pub use client::tls::algorithms::{KeyExchangeGroup, Suite, UnknownName};
pub use client::tls::certificate::{ClientCertificate, WrongCertificate};
pub use client::tls::config::{trusted_roots, trusting};
pub use client::tls::rules::{TicketsOf, TlsRules, TlsVersions};
pub use client::tls::server_key::{ServerKey, SigningKey};
pub use compare::repeat::{Repeated, RepeatedFigure};
pub use error::Error;
pub use file_mistake::FileMistake;
pub use html::css;
pub use merge::live::LiveMerge;
pub use merge::{MissingShard, merge, merge_available};
pub use output::exposition::exposition;
pub use output::metrics;
pub use output::number;
pub use output::paragraph::paragraph;
pub use output::secret::SECRET_NAMES;
pub use output::text::{line, report};
pub use plan::shard::{CommonStart, Shard, start_at};
pub use plan::{Avoided, Plan, Stop, Window, WindowBy};
pub use recorder::join::{join_lines, join_parquet};
pub use recorder::seconds::write_seconds;
pub use result::driver::AgentOf;
pub use result::series::Point;
pub use result::shard::ShardResult;
pub use result::snapshot::{DriverNow, RunStage, Snapshot};
pub use result::summary::Summary;
pub use result::threshold_result::{Aborted, ThresholdResult};
pub use rng::Rng;
pub use run::handshake::{Handshake, handshake};
pub use run::{run, run_when};
pub use scenario::{HeaderField, PageRequest, Scenario};
pub use tidegate_config::{Mistake, Mistakes};
pub use tidegate_stats::{Percentiles, Quantile};
pub use totals::Totals;
