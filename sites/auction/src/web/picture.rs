//! Drawn pictures of the items: a category has a glyph.

use maud::Markup;

use crate::catalogue::CATEGORIES;
use tidegate_sitekit::web::picture;

/// Glyphs in a box of 64 by 64, drawn as lines, in the order of the categories.
const GLYPHS: [&str; CATEGORIES.len()] = [
    "M32 10c-14 0-24 9-24 21s10 21 20 21c5 0 6-4 4-7s0-7 5-7h8c7 0 11-4 11-10c0-11-11-18-24-18zM19 30a3 3 0 1 0 .1 0zM26 19a3 3 0 1 0 .1 0zM38 18a3 3 0 1 0 .1 0zM47 25a3 3 0 1 0 .1 0z",
    "M8 14c8-4 16-4 24 2c8-6 16-6 24-2v36c-8-4-16-4-24 2c-8-6-16-6-24-2zM32 16v36M15 24h10M15 32h10M39 24h10M39 32h10",
    "M8 22h48v30H8zM24 22v-8h16v8M8 36h20M36 36h20M28 32h8v8h-8z",
    "M22 10l-14 8 6 13 6-3v26h24V28l6 3 6-13-14-8c-2 7-18 7-20 0z",
    "M25 16a16 16 0 1 0 .1 0zM25 23v18M20 27c2-4 10-3 10 1s-10 4-10 8 8 5 10 1M38 17a16 16 0 0 1 0 30",
    "M32 8l7 16 17 2-13 11 4 17-15-9-15 9 4-17L8 26l17-2z",
    "M10 12h44v30H10zM16 18h32v18H16zM26 42v10M38 42v10M18 52h28",
    "M8 22h48v30H8zM16 22L46 10M22 30a7 7 0 1 0 .1 0zM38 32h12M38 38h12M38 44h12",
    "M32 18a18 17 0 1 0 .1 0zM17 12a7 7 0 0 0-1 13M47 12a7 7 0 0 1 1 13M26 31v2M38 31v2M32 38v3M27 43c3 3 7 3 10 0",
    "M6 33L32 10l26 23M13 28v26h38V28M27 54V40h10v14",
    "M32 26a15 15 0 1 0 .1 0zM25 9h14l7 8-14 11-14-11zM18 17h28",
    "M8 27h48v27H8zM8 27l5-14h43v14M22 13l-5 14M35 13l-5 14M48 13l-5 14M28 35l10 6-10 6z",
    "M24 47V15l27-5v31M24 24l27-5M17 40a7 7 0 1 0 .1 0zM44 34a7 7 0 1 0 .1 0z",
    "M8 20h12l4-7h16l4 7h12v32H8zM32 25a11 11 0 1 0 .1 0zM32 31a5 5 0 1 0 .1 0zM48 27h3",
    "M24 8h16M26 8v9c0 6-12 9-12 21c0 10 8 17 12 18h12c4-1 12-8 12-18c0-12-12-15-12-21V8M15 34h34M15 42h34",
    "M32 10a22 22 0 1 0 .1 0zM10 32h44M32 10v44M17 17c8 8 8 22 0 30M47 17c-8 8-8 22 0 30",
    "M12 10h5l2 3 3-3h5l2 3 3-3h5l2 3 3-3h5l2 3 3-3v44h-5l-2-3-3 3h-5l-2-3-3 3h-5l-2-3-3 3h-5l-2-3-3 3zM20 20h24v24H20zM20 40l8-10 6 6 4-5 6 8",
    "M8 18h48v9a5 5 0 0 0 0 10v9H8v-9a5 5 0 0 0 0-10zM40 18v6M40 29v6M40 40v6M16 27h16M16 36h10",
    "M8 34h20v20H8zM36 34h20v20H36zM22 10h20v20H22zM15 44h6M46 40v8M29 23l3-7 3 7z",
    "M8 22l24-12 24 12v24L32 58 8 46zM8 22l24 12 24-12M32 34v24M20 16l24 12v8",
];

/// The picture of an item, with its size set.
pub fn of_item(category: i64, item: i64, width: i64) -> Markup {
    picture::image(category, item, width)
}

/// The picture of a category.
pub fn of_category(category: i64, width: i64) -> Markup {
    of_item(category, category * 7, width)
}

/// Draws the picture of this name, `CATEGORY-VARIANT.svg`.
pub fn by_name(name: &str) -> Option<String> {
    picture::by_name(&GLYPHS, name)
}
