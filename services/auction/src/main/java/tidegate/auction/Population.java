package tidegate.auction;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Random;

/**
 * Fills an empty database: people, items whose auctions run and items whose auctions are over,
 * bids and comments. The same scale and seed give the same rows, but for the time of day.
 *
 * <p>Deviation from RUBiS: at scale 1 there are 100,000 people instead of a million, and 50,000
 * auctions that are over instead of 500,000; what pages list grows with the active items alone.
 */
final class Population {
    private static final long SEED = 1;
    private static final long DAY_S = 24 * 3600;
    private static final int BATCH = 500;
    private static final String WORDS = "amber antique arch autumn bench blue brass bronze carved"
            + " cedar chart clear coast copper coral cotton crystal desk drawn early enamel fine"
            + " first folding garden gilt glass golden grand green hand harbour inlaid iron ivory"
            + " jade lace lamp large late leather linen long maple marble mirror narrow north oak"
            + " old open original painted pale paper pearl pewter pine plain plate porcelain print"
            + " rare red restored river rose round royal rural sealed set signed silk silver small"
            + " solid south stamped steel stone table teak tin velvet walnut warm watch white wide"
            + " winter wood woven yellow";
    private static final String[] WORD = WORDS.split(" ");

    private final Connection on;
    private final double scale;
    private final int passwordRounds;
    private final long now;
    private final Random random = new Random(SEED);
    private final int users;

    Population(Connection on, double scale, int passwordRounds, long now) {
        this.on = on;
        this.scale = scale;
        this.passwordRounds = passwordRounds;
        this.now = now;
        this.users = Math.max(10, scaled(100_000));
    }

    void fill() throws SQLException {
        places();
        people();
        long item = 1;
        for (int category = 1; category <= Catalogue.CATEGORIES.size(); category++) {
            int active = Catalogue.CATEGORIES.get(category - 1).activeItems();
            item = items(item, Math.max(1, scaled(active)), category, 1);
        }
        for (int category = 1; category <= Catalogue.CATEGORIES.size(); category++) {
            item = items(item, scaled(50_000) / Catalogue.CATEGORIES.size(), category, -30);
        }
        comments(item - 1);
        for (String table : new String[] {"users", "items"}) {
            long next = table.equals("users") ? users + 1L : item;
            Sql.change(on, "ALTER TABLE " + table + " ALTER COLUMN id RESTART WITH " + next);
        }
    }

    private void places() throws SQLException {
        for (int id = 1; id <= Catalogue.CATEGORIES.size(); id++) {
            String name = Catalogue.CATEGORIES.get(id - 1).name();
            Sql.change(on, "INSERT INTO categories VALUES (?, ?)", id, name);
        }
        for (int id = 1; id <= Catalogue.REGIONS.size(); id++) {
            Sql.change(on, "INSERT INTO regions VALUES (?, ?)", id, Catalogue.REGIONS.get(id - 1));
        }
    }

    private void people() throws SQLException {
        String text = "INSERT INTO users (id, firstname, lastname, nickname, password, email,"
                + " rating, created, region) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement statement = on.prepareStatement(text)) {
            for (int id = 1; id <= users; id++) {
                String hash = Passwords.hash("password" + id, Passwords.salt(id), passwordRounds);
                Sql.fill(statement, (long) id, "First" + id, "Last" + id, "user" + id, hash,
                        "user" + id + "@example.test", random.nextInt(100) - 20,
                        now - DAY_S * (1 + random.nextInt(1000)), region(id));
                add(statement, id);
            }
            statement.executeBatch();
        }
    }

    /** Items from this id on, whose auctions end this many days from now up to six days later. */
    private long items(long from, int count, int category, int days) throws SQLException {
        String text = "INSERT INTO items (id, name, description, initial_price, quantity, buy_now,"
                + " bids, max_bid, start_date, end_date, seller, region, category)"
                + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement statement = on.prepareStatement(text)) {
            for (long id = from; id < from + count; id++) {
                long price = 100 * (1L + random.nextInt(500));
                // As in RUBiS: four of ten items can be bought at once.
                long buyNow = random.nextInt(10) < 4 ? price * 3 : 0;
                long seller = 1 + random.nextInt(users);
                long end = now + DAY_S * (days + random.nextInt(6)) + random.nextInt((int) DAY_S);
                int bids = random.nextInt(21);
                long highest = bids(id, bids, price);
                Sql.fill(statement, id, words(3 + random.nextInt(4)), words(20 + random.nextInt(200)),
                        price, 1 + random.nextInt(10), buyNow, bids, highest, end - 7 * DAY_S, end,
                        seller, region(seller), (long) category);
                add(statement, id);
            }
            statement.executeBatch();
        }
        return from + count;
    }

    /** Bids on an item, each above the one before; returns the highest, or 0 without bids. */
    private long bids(long item, int count, long price) throws SQLException {
        String text = "INSERT INTO bids (user_id, item_id, quantity, bid, max_bid, placed)"
                + " VALUES (?, ?, ?, ?, ?, ?)";
        long bid = 0;
        try (PreparedStatement statement = on.prepareStatement(text)) {
            for (int number = 0; number < count; number++) {
                bid = Math.max(bid, price) + 100L * (1 + random.nextInt(5));
                long placed = now - 3600L * (count - number);
                Sql.fill(statement, 1L + random.nextInt(users), item, 1, bid, bid + 100, placed);
                statement.addBatch();
            }
            statement.executeBatch();
        }
        return bid;
    }

    private void comments(long items) throws SQLException {
        String text = "INSERT INTO comments (from_user, to_user, item_id, rating, written, text)"
                + " VALUES (?, ?, ?, ?, ?, ?)";
        int[] ratings = {-5, -3, 0, 3, 5};
        try (PreparedStatement statement = on.prepareStatement(text)) {
            for (int number = 0; number < 5 * users; number++) {
                Sql.fill(statement, 1L + random.nextInt(users), 1L + random.nextInt(users),
                        1 + (long) random.nextInt((int) items), ratings[random.nextInt(5)],
                        now - DAY_S * random.nextInt(300), words(5 + random.nextInt(60)));
                add(statement, number);
            }
            statement.executeBatch();
        }
    }

    private static void add(PreparedStatement statement, long number) throws SQLException {
        statement.addBatch();
        if (number % BATCH == 0) {
            statement.executeBatch();
        }
    }

    private String words(int count) {
        StringBuilder text = new StringBuilder();
        for (int word = 0; word < count; word++) {
            text.append(word == 0 ? "" : " ").append(WORD[random.nextInt(WORD.length)]);
        }
        text.setCharAt(0, Character.toUpperCase(text.charAt(0)));
        return text.toString();
    }

    private static long region(long user) {
        return 1 + user % Catalogue.REGIONS.size();
    }

    private int scaled(int atOne) {
        return (int) Math.round(atOne * scale);
    }
}
