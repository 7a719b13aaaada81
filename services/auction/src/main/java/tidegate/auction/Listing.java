package tidegate.auction;

import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** Lists of categories, regions and items. */
public final class Listing {
    /** Items on a page. */
    static final int PAGE = 20;

    private static final String ACTIVE = " i.end_date > ? AND i.quantity > 0";

    private final Database database;

    Listing(Database database) {
        this.database = database;
    }

    /** A category or region, and how many items are active in it. */
    public record Place(long id, String name, long items) {}

    /** A page of a list: its number from 1, and the number of pages. */
    public record Page(List<Item> items, long page, long pages, long entries) {}

    /** The categories, with the active items of a region, or of all regions if it is null. */
    List<Place> categories(Long region, long now) throws SQLException {
        String of = region == null ? "" : " AND i.region = " + region.longValue();
        String query = "SELECT c.id, c.name, COUNT(i.id) FROM categories c LEFT JOIN items i"
                + " ON i.category = c.id AND" + ACTIVE + of + " GROUP BY c.id, c.name ORDER BY c.id";
        return places(query, now);
    }

    List<Place> regions(long now) throws SQLException {
        return places("SELECT r.id, r.name, COUNT(i.id) FROM regions r LEFT JOIN items i"
                + " ON i.region = r.id AND" + ACTIVE + " GROUP BY r.id, r.name ORDER BY r.id", now);
    }

    private List<Place> places(String query, long now) throws SQLException {
        return database.read(on -> Sql.all(on, query,
                row -> new Place(row.getLong(1), row.getString(2), row.getLong(3)), now));
    }

    /** The name of a region or category, if there is one of this id; {@code table} is ours. */
    Optional<String> name(String table, long id) throws SQLException {
        String query = "SELECT name FROM " + table + " WHERE id = ?";
        return database.read(on -> Sql.first(on, query, row -> row.getString(1), id));
    }

    Page inCategory(long category, long page, long now) throws SQLException {
        return page(" WHERE i.category = ? AND" + ACTIVE, page, now, category, now);
    }

    Page inRegion(long region, long category, long page, long now) throws SQLException {
        String where = " WHERE i.region = ? AND i.category = ? AND" + ACTIVE;
        return page(where, page, now, region, category, now);
    }

    private Page page(String where, long page, long now, Object... values) throws SQLException {
        return database.read(on -> {
            long entries = Sql.first(on, "SELECT COUNT(*) FROM items i" + where,
                    row -> row.getLong(1), values).orElse(0L);
            long pages = Math.max(1, (entries + PAGE - 1) / PAGE);
            if (page > pages) {
                throw Refusal.notFound("page of this list");
            }
            String query = "SELECT " + Item.COLUMNS + " FROM " + Item.TABLES + where
                    + " ORDER BY i.end_date, i.id LIMIT " + PAGE + " OFFSET " + (page - 1) * PAGE;
            List<Item> items = Sql.all(on, query, row -> Item.of(row, now), values);
            return new Page(items, page, pages, entries);
        });
    }

    /** The items that end next. */
    List<Item> endingSoon(int count, long now) throws SQLException {
        String query = "SELECT " + Item.COLUMNS + " FROM " + Item.TABLES + " WHERE" + ACTIVE
                + " ORDER BY i.end_date, i.id LIMIT " + count;
        return database.read(on -> Sql.all(on, query, row -> Item.of(row, now), now));
    }
}
