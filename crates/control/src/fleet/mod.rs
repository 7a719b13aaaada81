//! The budget of several gates before one service: it is divided among them by their demand.
//!
//! Each gate has a [`Member`]. It reports a [`Demand`] five times a second, takes [`Table`]s
//! and gives, at each tick, the [`Part`](crate::Part) of the service that the gate may use:
//!
//! ```
//! use std::time::Duration;
//! use tidegate_control::fleet::{Divider, INTERVAL, LEASE, Member};
//! use tidegate_control::{Controller, Reading, Settings};
//!
//! let now = Duration::from_secs(10);
//! let mut controller = Controller::new(Settings::default());
//! let mut member = Member::new("gate-1".to_owned(), 1);
//! // Whoever holds the lease: its revision, and the time until which it is valid.
//! let mut divider = Divider::new(7, now + LEASE, now);
//!
//! // At each tick of the control loop:
//! let reading = Reading { elapsed: Duration::from_millis(100), ..Reading::default() };
//! let part = member.part(now, &reading, &controller.outlook());
//! controller.observe(now, &reading.part_of_fleet(part));
//! // Each INTERVAL, to the holder of the lease:
//! let demand = member.demand(now, &controller.outlook());
//! divider.report(now, &demand)?;
//! // Each EXPERIENCE_INTERVAL, to the holder of the lease:
//! divider.learn("gate-1", &controller.experience())?;
//! // Each INTERVAL, at the holder of the lease, to all gates:
//! divider.renew(now + LEASE);
//! let experience = divider.experience(now);
//! let table = divider.table(now).expect("the lease is valid, and a gate is heard");
//! // At each gate, when they arrive:
//! if let Some(learned) = &experience {
//!     controller.learn_from(member.learns(learned)?);
//! }
//! member.take(&table)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No clock is compared with another. A table repeats for each gate the number of the last
//! report that it counts; the gate knows when it sent that, and the table is valid for
//! [`SAFE_AFTER`] from then. The divider counts a gate for [`LOST_AFTER`] from the arrival of a
//! report, which is later. So a share is given to others only after the gate that had it has
//! fallen to its safe share, whatever the network does with messages.

mod demand;
mod divide;
mod divider;
mod member;
mod pool;
mod table;

use std::time::Duration;

pub use demand::{Demand, Malformed};
pub use divide::divide;
pub use divider::{Divider, Refused};
pub use member::{Member, Standing};
pub use pool::FleetExperience;
pub use table::{GateShare, MOST_LINES, Stale, Table};

/// Time between two reports of a gate, and between two tables.
pub const INTERVAL: Duration = Duration::from_millis(200);
/// How often a gate sends what it has learned, and all receive what all have learned.
pub const EXPERIENCE_INTERVAL: Duration = Duration::from_secs(1);
/// Age of the report behind the newest table from which a gate's share decays: more than it takes
/// until another gate has the lease and makes its first table.
pub const DECAYS_AFTER: Duration = Duration::from_millis(1050);
/// The same at which the share has become the safe one.
pub const SAFE_AFTER: Duration = Duration::from_millis(1250);
/// Time without a report after which a gate counts as lost and its share is given to others.
pub const LOST_AFTER: Duration = Duration::from_millis(1350);
/// How long a renewal of the lease is valid, counted from the moment before it was sent. The
/// holder renews each [`INTERVAL`]. Less than [`LOST_AFTER`]: a holder that is cut off stops
/// before it gives the shares of the others away.
pub const LEASE: Duration = Duration::from_millis(500);
/// How long the other gates see no renewal before one of them takes the lease (by a write that
/// fails if the revision is no longer the one it saw). Longer than [`LEASE`]: two holders never
/// make tables at one time. As short as that, because shares decay meanwhile.
pub const TAKE_OVER_AFTER: Duration = Duration::from_millis(600);
/// Part of the whole that gates which are cut off have together, 0 to 1.
pub const SAFE: f64 = 0.1;
/// Most gates in a fleet.
pub const MOST_GATES: usize = 4096;
