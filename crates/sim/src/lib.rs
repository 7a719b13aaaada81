//! A simulator of an overloaded service, in virtual time, around the
//! production [`Controller`](tidegate_control::Controller) and its rivals.
//!
//! Customers arrive, open a connection, ask, think, come back with a resumed
//! handshake if the connection was closed meanwhile, and leave or come back as
//! new if a response takes longer than their patience. Gate, upstream and
//! database queue for processors. Work for a customer who has left is done all
//! the same, up to the stage that it is in: this is what makes an uncontrolled
//! server collapse.
//!
//! A [`Scenario`] is a readable file. A run follows from the scenario, its load
//! and its seed alone; [`judged()`] runs it and tells what came of it by every
//! [`Measure`].

mod arrivals;
mod best;
mod bidding;
mod capacity;
mod catalogue;
mod distribution;
mod drawn;
pub mod estimators;
mod evaluation;
mod expectation;
mod file;
pub mod goals;
mod handshake_mix;
mod judged;
mod length;
mod machine;
mod measure;
mod outcome;
pub mod policies;
mod policy;
mod random;
mod rivals;
mod scenario;
mod shipped;
mod variants;
mod world;

pub use arrivals::{Arrivals, Bursts, Segment, Wave};
pub use catalogue::{CATALOGUE, text};
pub use distribution::Distribution;
pub use expectation::Expectation;
pub use handshake_mix::HandshakeMix;
pub use judged::{Judged, judged};
pub use length::SessionLength;
pub use measure::Measure;
pub use outcome::{Cohort, Outcome, Tenth, jain, max_min};
pub use policy::{Policy, Response, User};
pub use random::Random;
pub use scenario::{
    AfterFailure, Attack, AttackKind, Change, Changed, Customers, Database, Gate, Pauses, Resource,
    Scenario, Telemetry, Upstream, Work,
};
pub use variants::{VARIANTS, Variant};
pub use world::run;
