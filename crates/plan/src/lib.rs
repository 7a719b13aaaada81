//! From what operations cost to servers and money: how many servers carry so many customers, which
//! operations get servers of their own, what that costs per customer, checkout and year, and what
//! an overload costs without the gate and with it.
//!
//! Pure: time and prices are arguments, and the same inputs give the same plan.
//!
//! Source: Microsoft 1999, "Using Transaction Cost Analysis for Site Capacity Planning", and the
//! commerce site capacity study that applies it.

pub mod alternatives;
mod capacity;
mod columns;
pub mod file;
pub mod headroom;
pub mod inputs;
mod keys;
mod measured;
pub mod mixed;
pub mod overload;
pub mod partition;
pub mod plan;
pub mod profile;
pub mod range;
pub mod rising;
pub mod servers;
mod spread;
pub mod table;

pub use alternatives::{Alternative, Answer, Optimisation, Question, Swing};
pub use file::{Asked, reference};
pub use headroom::Headroom;
pub use inputs::{Inputs, Operation};
pub use overload::{AtRisk, Curve, Overload};
pub use partition::Group;
pub use plan::{Arrangement, Have, Impossible, Plan, Rules, Year};
pub use profile::{Profile, Visits};
pub use range::Range;
pub use servers::{ServerType, Staffing};

/// A file to begin with.
pub const EXAMPLE: &str = include_str!("../example.toml");
