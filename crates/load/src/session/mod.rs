//! One customer's session: requests, think times, patience, cookies, and the events that
//! it records.

pub(crate) mod context;
mod cookies;
pub(crate) mod customer;
mod deadline;
pub(crate) mod event_log;
mod last_used;
pub(crate) mod message;
pub(crate) mod open_requests;
mod redirect;
mod request;
pub(crate) mod returning;
pub(crate) mod timers;
mod user_agent;
mod values;
