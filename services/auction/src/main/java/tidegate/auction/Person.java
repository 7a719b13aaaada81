package tidegate.auction;

import java.sql.ResultSet;
import java.sql.SQLException;

/** A registered user. */
public record Person(long id, String nickname, String firstname, String lastname, String email,
        int rating, long created, String region, String password) {
    static final String QUERY = "SELECT u.id, u.nickname, u.firstname, u.lastname, u.email, u.rating,"
            + " u.created, r.name, u.password FROM users u JOIN regions r ON r.id = u.region ";

    static Person of(ResultSet row) throws SQLException {
        return new Person(row.getLong(1), row.getString(2), row.getString(3), row.getString(4),
                row.getString(5), row.getInt(6), row.getLong(7), row.getString(8), row.getString(9));
    }

    /** The day of registration. */
    public String since() {
        return Item.date(created);
    }
}
