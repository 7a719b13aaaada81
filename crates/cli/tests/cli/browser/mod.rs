//! Sites in a real browser, driven over WebDriver.

mod auction;
mod brokerage;
mod brokerage_pages;
mod full;
mod operator;
mod room;
mod shop;
