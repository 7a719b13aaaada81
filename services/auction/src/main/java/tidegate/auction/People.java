package tidegate.auction;

import java.security.SecureRandom;
import java.sql.SQLException;
import java.util.List;

/** Users: their registration, sign-in and pages. */
public final class People {
    private final Database database;
    private final int passwordRounds;
    private final SecureRandom random = new SecureRandom();

    People(Database database, int passwordRounds) {
        this.database = database;
        this.passwordRounds = passwordRounds;
    }

    /** What was said about a user. */
    public record Comment(String from, long fromId, String text, int rating, String written) {}

    /** An item that a user has bid on, and the user's highest bid. */
    public record MyBid(long item, String name, Money mine, Money highest) {}

    /** An item that a user has bought. */
    public record MyPurchase(long item, String name, int quantity, String bought) {}

    /** Who registers. */
    record NewPerson(String nickname, String password, String firstname, String lastname,
            String email, long region) {}

    /** @throws Refusal if there is no such user */
    Person person(long id) throws SQLException {
        return database.read(on -> Sql.first(on, Person.QUERY + "WHERE u.id = ?", Person::of, id))
                .orElseThrow(() -> Refusal.notFound("user"));
    }

    /** @throws Refusal if there is no such user, or the password is another */
    Person signIn(String nickname, String password) throws SQLException {
        String name = nickname == null ? "" : nickname;
        Person found = database.read(on ->
                Sql.first(on, Person.QUERY + "WHERE u.nickname = ?", Person::of, name)).orElse(null);
        if (found == null || password == null || !Passwords.matches(password, found.password())) {
            throw new Refusal(401, "Nickname or password is wrong", "Go back and try again.");
        }
        return found;
    }

    /** @throws Refusal if the nickname is taken */
    long register(NewPerson person, long now) throws SQLException {
        byte[] salt = new byte[16];
        random.nextBytes(salt);
        String hash = Passwords.hash(person.password(), salt, passwordRounds);
        try {
            return database.write(on -> Sql.insert(on, "INSERT INTO users (firstname, lastname,"
                    + " nickname, password, email, rating, created, region)"
                    + " VALUES (?, ?, ?, ?, ?, 0, ?, ?)", person.firstname(), person.lastname(),
                    person.nickname(), hash, person.email(), now, person.region()));
        } catch (SQLException error) {
            if (Sql.isDuplicate(error)) {
                throw new Refusal(409, "This nickname is taken", "Go back and choose another.");
            }
            throw error;
        }
    }

    List<Comment> comments(long user) throws SQLException {
        String query = "SELECT u.nickname, u.id, c.text, c.rating, c.written FROM comments c"
                + " JOIN users u ON u.id = c.from_user WHERE c.to_user = ? ORDER BY c.id DESC LIMIT 50";
        return database.read(on -> Sql.all(on, query, row -> new Comment(row.getString(1),
                row.getLong(2), row.getString(3), row.getInt(4), Item.date(row.getLong(5))), user));
    }

    List<MyBid> bids(long user) throws SQLException {
        String query = "SELECT i.id, i.name, MAX(b.bid), i.max_bid FROM bids b"
                + " JOIN items i ON i.id = b.item_id WHERE b.user_id = ?"
                + " GROUP BY i.id, i.name, i.max_bid, i.end_date ORDER BY i.end_date DESC LIMIT 25";
        return database.read(on -> Sql.all(on, query, row -> new MyBid(row.getLong(1),
                row.getString(2), new Money(row.getLong(3)), new Money(row.getLong(4))), user));
    }

    List<Item> sales(long user, long now) throws SQLException {
        String query = "SELECT " + Item.COLUMNS + " FROM " + Item.TABLES
                + " WHERE i.seller = ? ORDER BY i.end_date DESC LIMIT 25";
        return database.read(on -> Sql.all(on, query, row -> Item.of(row, now), user));
    }

    List<MyPurchase> purchases(long user) throws SQLException {
        String query = "SELECT i.id, i.name, p.quantity, p.bought FROM purchases p"
                + " JOIN items i ON i.id = p.item_id WHERE p.buyer = ? ORDER BY p.id DESC LIMIT 25";
        return database.read(on -> Sql.all(on, query, row -> new MyPurchase(row.getLong(1),
                row.getString(2), row.getInt(3), Item.date(row.getLong(4))), user));
    }
}
