package tidegate.auction;

import java.util.List;

/**
 * The categories and regions. Source of the categories and their numbers of active items: eBay on
 * 20 September 2001, as RUBiS uses them.
 */
final class Catalogue {
    /** A category, and how many items are active in it at scale 1. */
    record Category(String name, int activeItems) {}

    static final List<Category> CATEGORIES = List.of(
            new Category("Antiques & Art", 1374),
            new Category("Books", 2691),
            new Category("Business, Office & Industrial", 259),
            new Category("Clothing & Accessories", 2874),
            new Category("Coins", 538),
            new Category("Collectibles", 7521),
            new Category("Computers", 664),
            new Category("Consumer Electronics", 586),
            new Category("Dolls & Bears", 1077),
            new Category("Home & Garden", 976),
            new Category("Jewelry, Gems & Watches", 2325),
            new Category("Movies & Television", 1051),
            new Category("Music", 1420),
            new Category("Photo", 170),
            new Category("Pottery & Glass", 1069),
            new Category("Sports", 3029),
            new Category("Stamps", 305),
            new Category("Tickets & Travel", 242),
            new Category("Toys & Hobbies", 3671),
            new Category("Everything Else", 825));

    static final List<String> REGIONS = List.of(
            "Amsterdam", "Athens", "Atlanta", "Barcelona", "Berlin", "Boston", "Brussels",
            "Budapest", "Cape Town", "Chicago", "Dublin", "Geneva", "Helsinki", "Houston",
            "Lisbon", "London", "Madrid", "Milan", "Oslo", "Paris", "Prague", "Rome",
            "Seattle", "Stockholm", "Sydney", "Tokyo", "Toronto", "Vienna", "Warsaw", "Zurich");

    private Catalogue() {}
}
