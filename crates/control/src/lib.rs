//! Cost model, budget and admission policies: pure; no clock, no I/O.
//!
//! A [`Controller`] decides, many thousand times a second, whether a new session is
//! admitted. It learns what work costs from one [`Reading`] per tick and never sees a
//! socket or a clock, so the arithmetic that runs in production is the arithmetic that
//! runs under test.
//!
//! ```
//! use std::time::Duration;
//! use tidegate_control::{Controller, Decision, Moment, PolicyKind, Settings};
//!
//! let policy = PolicyKind::Static { per_second: 100.0 };
//! let mut controller = Controller::new(Settings { policy, ..Settings::default() });
//! controller.offered();
//! assert_eq!(controller.decide(Duration::ZERO, Moment::IDLE), Decision::Admit);
//! ```

mod average;
mod bucket;
mod codel;
mod controller;
mod costs;
mod discipline;
mod eac;
mod experience;
pub mod fleet;
mod handshake;
mod hang_ups;
mod moment;
mod number;
mod outlook;
mod part;
mod policy;
mod prices;
mod priority;
mod reading;
mod resource;
mod status;
mod sustainable;
mod think_time_census;
mod tide;
pub mod waiting_room;

pub use average::Average;
pub use controller::{Controller, Learned, Settings};
pub use costs::{ClassCost, CostModel, Costs, Priors, REFUSAL_CPU_S};
pub use discipline::Discipline;
pub use experience::{Evidence, Experience};
pub use handshake::{CertificateKey, Entry, FullHandshake, KeyExchange};
pub use moment::Moment;
pub use number::{sane, times};
pub use outlook::Outlook;
pub use part::Part;
pub use policy::{Decision, EacProfile, PolicyKind, PolicyName, UnknownPolicy};
pub use prices::{KindPrice, KindWork};
pub use priority::{Pass, Passage, Priority, RouteBudget, RouteWork};
pub use reading::{ClassWork, Reading, Usage};
pub use resource::{ByResource, Resource, ResourceName};
pub use status::Status;
pub use sustainable::{Range, Sustainable};
pub use think_time_census::{AGES, CensusCounts, ThinkTimeCensus, age};
pub use tide::Tuning;

/// A moment: the time since an origin of the caller's choice, never going back.
pub type Time = std::time::Duration;
