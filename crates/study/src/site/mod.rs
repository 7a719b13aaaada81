//! The site under study: where it is, its processes and what they use, and steps of load at it.

pub(crate) mod addresses;
pub(crate) mod clear;
pub(crate) mod completions;
pub(crate) mod host_use;
pub(crate) mod measure;
pub(crate) mod processes;
pub(crate) mod step;
pub(crate) mod times;
