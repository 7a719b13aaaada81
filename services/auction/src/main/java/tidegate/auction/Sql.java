package tidegate.auction;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Prepared statements with their values. */
final class Sql {
    private Sql() {}

    /** Makes an object of the row that a result stands on. */
    interface Row<T> {
        T of(ResultSet row) throws SQLException;
    }

    static <T> List<T> all(Connection on, String query, Row<T> make, Object... values)
            throws SQLException {
        try (PreparedStatement statement = prepare(on, query, values);
                ResultSet rows = statement.executeQuery()) {
            List<T> found = new ArrayList<>();
            while (rows.next()) {
                found.add(make.of(rows));
            }
            return found;
        }
    }

    static <T> Optional<T> first(Connection on, String query, Row<T> make, Object... values)
            throws SQLException {
        try (PreparedStatement statement = prepare(on, query, values);
                ResultSet rows = statement.executeQuery()) {
            return rows.next() ? Optional.of(make.of(rows)) : Optional.empty();
        }
    }

    /** The number of rows that a statement has changed. */
    static int change(Connection on, String statement, Object... values) throws SQLException {
        try (PreparedStatement prepared = prepare(on, statement, values)) {
            return prepared.executeUpdate();
        }
    }

    /** The id of the row that a statement has inserted. */
    static long insert(Connection on, String statement, Object... values) throws SQLException {
        try (PreparedStatement prepared = on.prepareStatement(statement, new String[] {"id"})) {
            fill(prepared, values);
            prepared.executeUpdate();
            try (ResultSet keys = prepared.getGeneratedKeys()) {
                keys.next();
                return keys.getLong(1);
            }
        }
    }

    /** Whether an error says that a row with this key exists already. */
    static boolean isDuplicate(SQLException error) {
        return "23505".equals(error.getSQLState());
    }

    private static PreparedStatement prepare(Connection on, String text, Object... values)
            throws SQLException {
        PreparedStatement statement = on.prepareStatement(text);
        try {
            fill(statement, values);
            return statement;
        } catch (SQLException error) {
            statement.close();
            throw error;
        }
    }

    static void fill(PreparedStatement statement, Object... values) throws SQLException {
        for (int index = 0; index < values.length; index++) {
            statement.setObject(index + 1, values[index]);
        }
    }
}
