package tidegate.auction;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** An item with its auction. Points in time are seconds since 1970. */
public record Item(
        long id,
        String name,
        String description,
        Money initialPrice,
        int quantity,
        Money buyNow,
        int bids,
        Money maxBid,
        long endDate,
        long seller,
        String sellerName,
        long region,
        long category,
        long now) {
    /** The columns that {@link #of} reads. */
    static final String COLUMNS = "i.id, i.name, i.description, i.initial_price, i.quantity,"
            + " i.buy_now, i.bids, i.max_bid, i.end_date, i.seller, u.nickname, i.region, i.category";
    /** The tables of {@link #COLUMNS}. */
    static final String TABLES = "items i JOIN users u ON u.id = i.seller";

    private static final DateTimeFormatter DATE =
            DateTimeFormatter.ofPattern("d MMM yyyy HH:mm", java.util.Locale.ROOT).withZone(ZoneOffset.UTC);

    static Item of(ResultSet row, long now) throws SQLException {
        return new Item(row.getLong(1), row.getString(2), row.getString(3), new Money(row.getLong(4)),
                row.getInt(5), new Money(row.getLong(6)), row.getInt(7), new Money(row.getLong(8)),
                row.getLong(9), row.getLong(10), row.getString(11), row.getLong(12), row.getLong(13), now);
    }

    /** The highest bid, or the initial price without one. */
    public Money price() {
        return maxBid.compareTo(initialPrice) > 0 ? maxBid : initialPrice;
    }

    /** The least that a new bid must be. */
    public Money minimumBid() {
        return bids == 0 ? initialPrice : new Money(price().cents() + 1);
    }

    /** Whether it can be bid on. */
    public boolean active() {
        return endDate > now && quantity > 0;
    }

    /** Whether it can be bought at once. */
    public boolean purchasable() {
        return active() && buyNow.cents() > 0;
    }

    /** The end of the auction. */
    public String ends() {
        return date(endDate);
    }

    static String date(long seconds) {
        return DATE.format(Instant.ofEpochSecond(seconds));
    }
}
