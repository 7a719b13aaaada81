package tidegate.auction;

import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import jakarta.servlet.annotation.WebListener;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Instant;

/** The parts of the site, made when it starts and found by its servlets. */
@WebListener
public final class Site implements ServletContextListener {
    private Database database;
    private Listing listing;
    private Auctions auctions;
    private People people;
    private final Tokens tokens = new Tokens();

    /** Opens the database, which is filled if it is empty; a kept one goes on where it stopped. */
    @Override
    public void contextInitialized(ServletContextEvent event) {
        try {
            open(Settings.of(System.getenv()));
        } catch (SQLException error) {
            throw new IllegalStateException("the database cannot be prepared: " + error.getMessage(), error);
        }
        event.getServletContext().setAttribute("site", this);
    }

    void open(Settings settings) throws SQLException {
        database = new Database(settings.database(), settings.connections());
        database.write(on -> {
            if (!Schema.exists(on)) {
                Schema.createTables(on);
                new Population(on, settings.scale(), settings.passwordRounds(), now()).fill();
                Schema.createIndexes(on);
            }
            Auctions.resume(on, now());
            return null;
        });
        listing = new Listing(database);
        auctions = new Auctions(database);
        people = new People(database, settings.passwordRounds());
    }

    @Override
    public void contextDestroyed(ServletContextEvent event) {
        if (database != null) {
            database.close();
        }
        // The drivers have registered themselves with the JDK, which outlives the site.
        ClassLoader own = getClass().getClassLoader();
        DriverManager.drivers().filter(driver -> driver.getClass().getClassLoader() == own)
                .toList().forEach(Site::forget);
    }

    private static void forget(Driver driver) {
        try {
            DriverManager.deregisterDriver(driver);
        } catch (SQLException error) {
            throw new IllegalStateException("a driver that is registered can be removed", error);
        }
    }

    static Site of(ServletContext context) {
        return (Site) context.getAttribute("site");
    }

    /** Seconds since 1970. */
    static long now() {
        return Instant.now().getEpochSecond();
    }

    Listing listing() {
        return listing;
    }

    Auctions auctions() {
        return auctions;
    }

    People people() {
        return people;
    }

    Tokens tokens() {
        return tokens;
    }
}
