//! Sites in a real browser, driven over WebDriver.

#[path = "../common/mod.rs"]
mod common;

mod auction;
mod brokerage;
mod brokerage_pages;
