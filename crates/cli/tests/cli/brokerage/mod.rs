//! The brokerage as processes: its tiers, links, faults, deposits, and the gate in front.

mod crashes;
mod deposits;
mod faults;
mod gate;
mod links;
mod security;
mod tiers;
