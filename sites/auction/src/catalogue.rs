//! The fixed categories and regions.
//!
//! Source: the 20 categories and their numbers of active items are those of eBay
//! on 20 September 2001 that RUBiS uses. RUBiS has 62 regions; these are ours.

/// A category: its name and how many items were active in it (32,667 in all).
#[derive(Clone, Copy, Debug)]
pub struct Category {
    /// As shown.
    pub name: &'static str,
    /// Items at scale 1.
    pub active_items: u32,
}

const fn category(name: &'static str, active_items: u32) -> Category {
    Category { name, active_items }
}

/// The categories; their ids count from 1.
pub const CATEGORIES: [Category; 20] = [
    category("Antiques & Art", 1374),
    category("Books", 2691),
    category("Business, Office & Industrial", 259),
    category("Clothing & Accessories", 2874),
    category("Coins", 538),
    category("Collectibles", 7521),
    category("Computers", 664),
    category("Consumer Electronics", 586),
    category("Dolls & Bears", 1077),
    category("Home & Garden", 976),
    category("Jewelry, Gems & Watches", 2325),
    category("Movies & Television", 1051),
    category("Music", 1420),
    category("Photo", 170),
    category("Pottery & Glass", 1069),
    category("Sports", 3029),
    category("Stamps", 305),
    category("Tickets & Travel", 242),
    category("Toys & Hobbies", 3671),
    category("Everything Else", 825),
];

/// The regions; their ids count from 1.
pub const REGIONS: [&str; 62] = [
    "Amsterdam",
    "Antwerp",
    "Athens",
    "Atlanta",
    "Auckland",
    "Barcelona",
    "Bergen",
    "Berlin",
    "Bilbao",
    "Bordeaux",
    "Boston",
    "Bristol",
    "Brussels",
    "Budapest",
    "Cape Town",
    "Cardiff",
    "Chicago",
    "Copenhagen",
    "Cork",
    "Dallas",
    "Denver",
    "Dublin",
    "Edinburgh",
    "Frankfurt",
    "Gdansk",
    "Geneva",
    "Genoa",
    "Glasgow",
    "Gothenburg",
    "Hamburg",
    "Helsinki",
    "Houston",
    "Istanbul",
    "Kiel",
    "Kyoto",
    "Lisbon",
    "Ljubljana",
    "London",
    "Lyon",
    "Madrid",
    "Marseille",
    "Melbourne",
    "Milan",
    "Montreal",
    "Munich",
    "Naples",
    "New York",
    "Oslo",
    "Paris",
    "Porto",
    "Prague",
    "Riga",
    "Rome",
    "Rotterdam",
    "San Francisco",
    "Seattle",
    "Stockholm",
    "Sydney",
    "Tallinn",
    "Toronto",
    "Vienna",
    "Zurich",
];

/// How many categories there are.
pub const CATEGORY_COUNT: i64 = CATEGORIES.len() as i64;
/// How many regions there are.
pub const REGION_COUNT: i64 = REGIONS.len() as i64;

/// The name of a category, if there is one of this id.
pub fn category_name(id: i64) -> Option<&'static str> {
    let index = usize::try_from(id.checked_sub(1)?).ok()?;
    CATEGORIES.get(index).map(|category| category.name)
}

/// The name of a region, if there is one of this id.
pub fn region_name(id: i64) -> Option<&'static str> {
    let index = usize::try_from(id.checked_sub(1)?).ok()?;
    REGIONS.get(index).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_of_the_categories_add_up_to_the_published_number() {
        assert_eq!(CATEGORIES.iter().map(|category| category.active_items).sum::<u32>(), 32_667);
    }

    #[test]
    fn ids_count_from_one() {
        assert_eq!(category_name(1), Some("Antiques & Art"));
        assert_eq!(region_name(62), Some("Zurich"));
        for id in [0, -1, 63, i64::MIN, i64::MAX] {
            assert_eq!((category_name(id), region_name(id)), (None, None), "{id}");
        }
    }
}
