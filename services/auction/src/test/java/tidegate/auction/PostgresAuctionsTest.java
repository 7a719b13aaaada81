package tidegate.auction;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;

/** The same in PostgreSQL. Skipped where it is not installed. */
class PostgresAuctionsTest extends AuctionsTest {
    private static Postgres server;

    @BeforeAll
    static void start() throws Exception {
        Assumptions.assumeTrue(Postgres.isInstalled(), "PostgreSQL is not installed: scripts/bootstrap study");
        server = Postgres.start();
    }

    @AfterAll
    static void stop() throws Exception {
        if (server != null) {
            server.close();
        }
    }

    @Override
    String emptyDatabase() throws Exception {
        return server.emptyDatabase();
    }
}
