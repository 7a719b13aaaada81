//! One customer's session: requests, think times, patience, cookies, and the events that
//! it records.

mod assets;
mod channel;
pub(crate) mod context;
mod cookies;
pub(crate) mod customer;
mod deadline;
pub(crate) mod event_log;
mod form;
pub(crate) mod in_flight;
mod last_used;
mod line;
pub(crate) mod message;
mod payload;
mod place;
mod redirect;
mod request;
pub(crate) mod returning;
pub(crate) mod sample;
pub(crate) mod timers;
mod user_agent;
mod values;
pub(crate) mod waiting;
