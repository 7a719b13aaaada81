//! One customer's session.

pub(crate) mod clock;
pub(crate) mod cookies;
pub(crate) mod customer;
pub(crate) mod deadline;
pub(crate) mod message;
pub(crate) mod request;
pub(crate) mod values;
