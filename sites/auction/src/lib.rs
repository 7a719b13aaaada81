//! An auction site after RUBiS: all 27 interactions, rendered on the server, on
//! SQLite or PostgreSQL.
//!
//! Source: RUBiS 1.4 (Rice University, E. Cecchet and J. Marguerite, 2002) for
//! the interactions, tables and population; all code and texts are our own.
//! Deviation: RUBiS keeps prices as floating point numbers, this site whole cents.
//!
//! | interaction | request |
//! | --- | --- |
//! | Home | `GET /` |
//! | Register, RegisterUser | `GET`, `POST /register` |
//! | Browse | `GET /browse` |
//! | BrowseCategories | `GET /categories` |
//! | SearchItemsInCategory | `GET /categories/{category}?page=N` |
//! | BrowseRegions | `GET /regions` |
//! | BrowseCategoriesInRegion | `GET /regions/{region}` |
//! | SearchItemsInRegion | `GET /regions/{region}/categories/{category}?page=N` |
//! | ViewItem, ViewBidHistory | `GET /items/{item}`, `GET /items/{item}/bids` |
//! | ViewUserInfo | `GET /users/{user}` |
//! | BuyNowAuth, BuyNow, StoreBuyNow | `GET`, `POST /items/{item}/buy`, `POST /items/{item}/purchases` |
//! | PutBidAuth, PutBid, StoreBid | `GET`, `POST /items/{item}/bid`, `POST /items/{item}/bids` |
//! | PutCommentAuth, PutComment, StoreComment | `GET /users/{user}/comment?item=N`, `POST` the same, `POST /users/{user}/comments` |
//! | Sell, SelectCategoryToSellItem | `GET`, `POST /sell` |
//! | SellItemForm, RegisterItem | `POST /sell/form`, `POST /items` |
//! | AboutMeAuth, AboutMe | `GET`, `POST /me` |
//! | (search by keyword, not of RUBiS) | `GET /search?q=WORDS&category=N&region=N&page=N` |
//!
//! A user signs in for one purpose: the next form carries a signed, expiring
//! token with the user and the purpose. Auctions that end are closed within
//! seconds; those of the synthetic population are then offered again, so that
//! the site keeps its size under load. While the site is stopped, auctions are
//! paused.

mod catalogue;
mod extra_cpu;
mod options;
mod population;
mod prepare;
mod schema;
mod search_index;
mod site;
mod store;
mod web;

pub use options::Options;
pub use prepare::{Prepared, prepare};
pub use site::{Site, start};
