//! Cost model, budget and admission policies: pure; no clock, no I/O.
//!
//! A [`Controller`] answers one question, many thousand times a second: *may
//! this new session in?* It learns what work costs from one [`Reading`] per
//! tick and never sees a socket or a clock, so the arithmetic that runs in
//! production is the arithmetic that runs under test.
//!
//! ```
//! use std::time::Duration;
//! use tidegate_control::{Controller, Decision, PolicyKind, Settings};
//!
//! let policy = PolicyKind::Static { per_second: 100.0 };
//! let mut controller = Controller::new(Settings { policy, ..Settings::default() });
//! assert_eq!(controller.new_session(Duration::ZERO), Decision::Admit);
//! ```

mod average;
mod bucket;
mod controller;
mod costs;
mod discipline;
mod eac;
mod lull;
mod policy;
mod reading;
mod service;
mod status;
mod thinking;
mod tide;
mod wishes;

pub use average::Average;
pub use controller::{Controller, Settings};
pub use costs::{ClassCost, CostModel, Costs, Priors, REFUSAL_CPU_S, sane};
pub use discipline::Discipline;
pub use policy::{Decision, PolicyKind, PolicyName, UnknownPolicy};
pub use reading::{ClassWork, Reading, Usage, times};
pub use status::{Resource, ResourceName, Status};
pub use thinking::{AGES, Thinking, Thoughts, age};

/// A moment: the time since an origin of the caller's choice, never going back.
pub type Time = std::time::Duration;
