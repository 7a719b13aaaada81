//! A simulator of an overloaded service, in virtual time, around the
//! production [`Controller`](tidegate_control::Controller) and its rivals.
//!
//! Customers arrive, open a connection, make requests, think, reconnect with a resumed
//! handshake if the connection was closed meanwhile, and leave or return as new if a
//! response takes longer than their patience. Where the gate has a waiting room, those who are not
//! admitted wait in it. Jobs at gate, upstream and database queue
//! for processors. The current stage of a job is finished even if its customer has left:
//! this is why an uncontrolled server collapses.
//!
//! A [`Scenario`] is a readable file. A run follows from the scenario, its load
//! and its seed alone; [`evaluate()`] runs it and reports every
//! [`Measure`].

mod arrivals;
mod best;
mod bidding;
mod capacity;
mod catalogue;
mod distribution;
mod drawn;
pub mod estimators;
mod evaluated;
mod expectation;
mod file;
pub mod fleet;
pub mod goals;
mod handshake_mix;
mod length;
mod machine;
mod measure;
mod measured;
mod outcome;
pub mod policies;
mod policy;
mod random;
mod rivals;
mod room;
mod scenario;
mod shipped;
mod variants;
mod world;

pub use arrivals::{Arrivals, Bursts, Segment, Wave};
pub use catalogue::{CATALOGUE, text};
pub use distribution::Distribution;
pub use evaluated::{Evaluated, evaluate};
pub use expectation::Expectation;
pub use file::reference;
pub use handshake_mix::HandshakeMix;
pub use length::SessionLength;
pub use measure::Measure;
pub use outcome::{Cohort, Outcome, Tenth, jain, max_min};
pub use policy::{Policy, Response, User};
pub use random::Random;
pub use room::{RoomOutcome, Stay};
pub use scenario::{
    AfterFailure, Attack, AttackKind, Change, Changed, Customers, Database, Gate, Pauses, Resource,
    Room, Scenario, Telemetry, Upstream, Waits, Work,
};
pub use variants::{VARIANTS, Variant};
pub use world::run;
