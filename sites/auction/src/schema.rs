//! The tables, after RUBiS 1.4, and the notes about the database itself.
//!
//! Deviations from RUBiS, each for a reason:
//! - money is whole cents, points in time are seconds since 1970: both are exact
//!   and the same in both databases;
//! - `items.region` repeats the seller's region, so that a search in a region is
//!   one index range and no join;
//! - `items.high_bidder` is the user of the highest bid, `items.relist` the
//!   quantity that a synthetic seller offers again (0: none);
//! - `users.nb_of_comments` and the table `active_counts` (how many items are
//!   active in a region and category, 0 standing for all) make "page x of y"
//!   one lookup;
//! - `description` comes last, so that a list of items never reads it;
//! - `item_words` (SQLite) and `items.words` (PostgreSQL) index the names of items;
//! - `used_forms` holds the forms that were accepted and have not expired yet;
//! - ids come from the databases' own counters, without a table of counters.

use tidegate_sitekit::once::form;
use tidegate_sitekit::population::Schema;

/// All tables, in an order in which they can be dropped and created.
const TABLES: [&str; 12] = [
    "item_words",
    "used_forms",
    "buy_now",
    "comments",
    "bids",
    "old_items",
    "items",
    "active_counts",
    "users",
    "regions",
    "categories",
    "site_notes",
];

/// The columns that `items` and `old_items` share, in the order of the tables.
pub const ITEM_COLUMNS: &str = "id, name, initial_price, quantity, reserve_price, buy_now, \
     nb_of_bids, max_bid, high_bidder, start_date, end_date, seller, region, category, relist, \
     description";

const TABLE_TEXTS: &str = "
CREATE TABLE categories (id {int} PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE regions (id {int} PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE active_counts (
    region {int} NOT NULL, category {int} NOT NULL, items {int} NOT NULL,
    PRIMARY KEY (region, category)
);
CREATE TABLE users (
    id {id}, firstname TEXT NOT NULL, lastname TEXT NOT NULL, nickname TEXT NOT NULL,
    password TEXT NOT NULL, email TEXT NOT NULL, rating {int} NOT NULL, balance {int} NOT NULL,
    creation_date {int} NOT NULL, region {int} NOT NULL, nb_of_comments {int} NOT NULL
);
CREATE TABLE items (
    id {id}, name TEXT NOT NULL, initial_price {int} NOT NULL,
    quantity {int} NOT NULL CHECK (quantity >= 0), reserve_price {int} NOT NULL,
    buy_now {int} NOT NULL, nb_of_bids {int} NOT NULL, max_bid {int} NOT NULL,
    high_bidder {int} NOT NULL, start_date {int} NOT NULL, end_date {int} NOT NULL,
    seller {int} NOT NULL, region {int} NOT NULL, category {int} NOT NULL,
    relist {int} NOT NULL, description TEXT NOT NULL
);
CREATE TABLE old_items (
    id {int} PRIMARY KEY, name TEXT NOT NULL, initial_price {int} NOT NULL,
    quantity {int} NOT NULL, reserve_price {int} NOT NULL,
    buy_now {int} NOT NULL, nb_of_bids {int} NOT NULL, max_bid {int} NOT NULL,
    high_bidder {int} NOT NULL, start_date {int} NOT NULL, end_date {int} NOT NULL,
    seller {int} NOT NULL, region {int} NOT NULL, category {int} NOT NULL,
    relist {int} NOT NULL, description TEXT NOT NULL
);
CREATE TABLE bids (
    id {id}, user_id {int} NOT NULL, item_id {int} NOT NULL, qty {int} NOT NULL,
    bid {int} NOT NULL, max_bid {int} NOT NULL, date {int} NOT NULL
);
CREATE TABLE comments (
    id {id}, from_user_id {int} NOT NULL, to_user_id {int} NOT NULL, item_id {int} NOT NULL,
    rating {int} NOT NULL, date {int} NOT NULL, comment TEXT NOT NULL
);
CREATE TABLE buy_now (
    id {id}, buyer_id {int} NOT NULL, item_id {int} NOT NULL, qty {int} NOT NULL,
    date {int} NOT NULL
);
";

const INDEX_TEXTS: &str = "
CREATE UNIQUE INDEX users_nickname ON users (nickname);
CREATE INDEX active_counts_category ON active_counts (category, region);
CREATE INDEX items_category ON items (category, end_date);
CREATE INDEX items_region ON items (region, category, end_date);
CREATE INDEX items_end ON items (end_date);
CREATE INDEX items_seller ON items (seller, end_date);
CREATE INDEX old_items_seller ON old_items (seller, end_date);
CREATE INDEX old_items_winner ON old_items (high_bidder, end_date);
CREATE INDEX bids_item ON bids (item_id, id);
CREATE INDEX bids_user ON bids (user_id, item_id, bid);
CREATE INDEX comments_to ON comments (to_user_id, id);
CREATE INDEX buy_now_buyer ON buy_now (buyer_id, date);
";

/// The tables.
pub const SCHEMA: Schema = Schema {
    kind: "auction",
    // Version 1 was without `used_forms` and the index of words.
    versions: &["2", "1"],
    tables: &TABLES,
    texts: &[TABLE_TEXTS, form::TABLE],
    indexes: INDEX_TEXTS,
    numbered: &["users", "bids", "comments", "buy_now"],
};

/// Lets PostgreSQL number items after those that there are: items share their ids with those
/// that have ended.
pub const NEXT_ITEM: &str = "SELECT setval(pg_get_serial_sequence('items', 'id'), GREATEST(
    (SELECT COALESCE(MAX(id), 0) FROM items), (SELECT COALESCE(MAX(id), 0) FROM old_items), 1));";
