package tidegate.auction;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;

/** The pool of connections, and transactions on them. */
final class Database implements AutoCloseable {
    /** Longest wait for a connection, in ms. Beyond it the customer has left. */
    private static final long LONGEST_WAIT_MS = 10_000;

    private final HikariDataSource pool;

    /** What is done on a connection. */
    interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Opens the pool; {@code connections} is its size. */
    Database(String url, int connections) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(connections);
        config.setConnectionTimeout(LONGEST_WAIT_MS);
        config.setPoolName("auction");
        // Named here: the driver of a web application is not found by the service loader of
        // the server that runs it.
        config.setDriverClassName(
                url.startsWith("jdbc:h2:") ? "org.h2.Driver" : "org.postgresql.Driver");
        Properties driver = new Properties();
        if (url.startsWith("jdbc:postgresql:")) {
            driver.setProperty("ApplicationName", "auction");
        }
        config.setDataSourceProperties(driver);
        pool = new HikariDataSource(config);
    }

    /** One or more queries, each by itself. */
    <T> T read(Work<T> work) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            return work.on(connection);
        }
    }

    /** A transaction: all of the work is stored, or none if it throws. */
    <T> T write(Work<T> work) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            try {
                T result = work.on(connection);
                connection.commit();
                return result;
            } catch (SQLException | RuntimeException error) {
                connection.rollback();
                throw error;
            } finally {
                connection.setAutoCommit(true);
            }
        }
    }

    @Override
    public void close() {
        pool.close();
    }
}
