package tidegate.auction;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/** Items, bids on them and purchases. */
public final class Auctions {
    /** A pause that is not made up for, in seconds: in a day few auctions end. */
    private static final long SHORTEST_STOP_S = 24 * 3600;

    private final Database database;

    Auctions(Database database) {
        this.database = database;
    }

    /** A bid as the history shows it. */
    public record Bid(String bidder, long user, int quantity, Money amount, String placed) {}

    /** A bid to be placed. */
    record NewBid(long item, int quantity, Money amount, Money limit) {}

    /** A bid that was not high enough: what the item costs now. */
    static final class Outbid extends Exception {
        private final transient Item item;

        Outbid(Item item) {
            super("outbid");
            this.item = item;
        }

        Item item() {
            return item;
        }
    }

    /**
     * Moves what a kept database has to the present, as if the site had not been stopped: auctions
     * that ran when the last bid was placed run on, and bids are as old as they were.
     */
    static void resume(Connection on, long now) throws SQLException {
        String query = "SELECT COALESCE(MAX(placed), ?) FROM bids";
        long last = Sql.first(on, query, row -> row.getLong(1), now).orElse(now);
        long stopped = now - last;
        if (stopped < SHORTEST_STOP_S) {
            return;
        }
        Sql.change(on, "UPDATE items SET start_date = start_date + ?, end_date = end_date + ?"
                + " WHERE end_date > ?", stopped, stopped, last);
        Sql.change(on, "UPDATE bids SET placed = placed + ?", stopped);
    }

    /** @throws Refusal if there is no such item */
    Item item(long id, long now) throws SQLException {
        return database.read(on -> item(on, id, now, ""));
    }

    private static Item item(Connection on, long id, long now, String lock) throws SQLException {
        String query = "SELECT " + Item.COLUMNS + " FROM " + Item.TABLES + " WHERE i.id = ?";
        Item item = Sql.first(on, query, row -> Item.of(row, now), id)
                .orElseThrow(() -> Refusal.notFound("item"));
        if (lock.isEmpty()) {
            return item;
        }
        // The row is locked by itself: neither database should lock the seller's too. It is
        // then read again, since another bid may have been stored while this one waited.
        Sql.first(on, "SELECT id FROM items WHERE id = ?" + lock, row -> row.getLong(1), id);
        return Sql.first(on, query, row -> Item.of(row, now), id)
                .orElseThrow(() -> Refusal.notFound("item"));
    }

    List<Bid> history(long item) throws SQLException {
        String query = "SELECT u.nickname, u.id, b.quantity, b.bid, b.placed FROM bids b"
                + " JOIN users u ON u.id = b.user_id WHERE b.item_id = ? ORDER BY b.bid DESC LIMIT 100";
        return database.read(on -> Sql.all(on, query, row -> new Bid(row.getString(1), row.getLong(2),
                row.getInt(3), new Money(row.getLong(4)), Item.date(row.getLong(5))), item));
    }

    /**
     * Stores a bid if it is above the highest, once for each form.
     *
     * @return the item with the bid
     * @throws Outbid if it is not above the highest
     * @throws Refusal if the auction is over or the form was sent before
     */
    Item bid(Tokens.Issued form, NewBid bid, long now) throws SQLException, Outbid {
        Item[] lost = new Item[1];
        Item after = database.write(on -> {
            Item item = active(item(on, bid.item(), now, " FOR UPDATE"));
            if (bid.quantity() > item.quantity()) {
                throw new Refusal(409, "There are not as many", "Only " + item.quantity() + " are left.");
            }
            if (bid.amount().compareTo(item.minimumBid()) < 0) {
                lost[0] = item;
                return item;
            }
            use(on, form, now);
            Sql.change(on, "INSERT INTO bids (user_id, item_id, quantity, bid, max_bid, placed)"
                    + " VALUES (?, ?, ?, ?, ?, ?)", form.user(), bid.item(), bid.quantity(),
                    bid.amount().cents(), bid.limit().cents(), now);
            Sql.change(on, "UPDATE items SET bids = bids + 1, max_bid = ? WHERE id = ?",
                    bid.amount().cents(), bid.item());
            return item(on, bid.item(), now, "");
        });
        if (lost[0] != null) {
            throw new Outbid(lost[0]);
        }
        return after;
    }

    /**
     * Buys at the fixed price, once for each form.
     *
     * @return the item as it was before
     * @throws Refusal if it is sold, cannot be bought, or the form was sent before
     */
    Item buy(Tokens.Issued form, int quantity, long now) throws SQLException {
        return database.write(on -> {
            Item item = purchasable(item(on, form.item(), now, " FOR UPDATE"));
            if (quantity > item.quantity()) {
                throw new Refusal(409, "There are not as many", "Only " + item.quantity() + " are left.");
            }
            use(on, form, now);
            Sql.change(on, "INSERT INTO purchases (buyer, item_id, quantity, bought) VALUES (?, ?, ?, ?)",
                    form.user(), item.id(), quantity, now);
            // What is sold out is offered again, as synthetic sellers of RUBiS do: otherwise a
            // long run has nothing left to sell.
            int left = item.quantity() - quantity;
            Sql.change(on, "UPDATE items SET quantity = ? WHERE id = ?", left == 0 ? 10 : left, item.id());
            return item;
        });
    }

    static Item active(Item item) {
        if (!item.active()) {
            throw new Refusal(409, "This auction is over", "It ended on " + item.ends() + ".");
        }
        return item;
    }

    static Item purchasable(Item item) {
        if (!active(item).purchasable()) {
            throw new Refusal(409, "This item has no fixed price", "Bid on it instead.");
        }
        return item;
    }

    /** Notes the number of a form, so that it is accepted once. */
    private static void use(Connection on, Tokens.Issued form, long now) throws SQLException {
        Sql.change(on, "DELETE FROM used_forms WHERE expires < ?", now);
        try {
            Sql.change(on, "INSERT INTO used_forms VALUES (?, ?)", form.number(), form.expires());
        } catch (SQLException error) {
            if (Sql.isDuplicate(error)) {
                throw new Refusal(409, "This form was sent before", "What you sent is stored already.");
            }
            throw error;
        }
    }
}
