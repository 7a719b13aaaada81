//! The load generator against servers of known behaviour.

mod assets;
mod classes;
mod client_certificates;
mod common;
mod compression;
mod connections;
mod customers;
mod expectations;
mod failures;
mod handshakes;
mod hosts;
mod http2;
mod impatience;
mod import;
mod models;
mod pages;
mod redirects;
mod reference;
mod report;
mod requests;
mod shards;
mod speed;
mod thresholds;
mod tls_choices;
mod truth;
mod unanswered;
