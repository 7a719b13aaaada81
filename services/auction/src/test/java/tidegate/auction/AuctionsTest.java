package tidegate.auction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Bids, purchases and forms on a small population, in H2. */
class AuctionsTest {
    private static final double SCALE = 0.0005;

    private final Site site = new Site();
    private final long now = Site.now();
    private Settings settings;

    @BeforeEach
    void open() throws Exception {
        settings = new Settings(emptyDatabase(), SCALE, 8, 1);
        site.open(settings);
    }

    /** The JDBC URL of a database without tables. */
    String emptyDatabase() throws Exception {
        return "jdbc:h2:mem:test" + System.nanoTime() + ";DB_CLOSE_DELAY=-1";
    }

    @AfterEach
    void close() {
        site.contextDestroyed(null);
    }

    @Test
    void of_many_bids_at_once_of_the_same_amount_one_is_accepted() throws Exception {
        Item item = activeItem();
        Money amount = item.minimumBid();
        ExecutorService bidders = Executors.newFixedThreadPool(8);
        Callable<Boolean> bidding = () -> {
            try {
                site.auctions().bid(form(item), new Auctions.NewBid(item.id(), 1, amount, amount), now);
                return true;
            } catch (Auctions.Outbid outbid) {
                return false;
            }
        };
        int accepted = 0;
        for (Future<Boolean> done : bidders.invokeAll(java.util.Collections.nCopies(16, bidding))) {
            accepted += done.get() ? 1 : 0;
        }
        bidders.shutdown();
        assertEquals(1, accepted);
        Item after = site.auctions().item(item.id(), now);
        assertEquals(item.bids() + 1, after.bids());
        assertEquals(amount, after.maxBid());
    }

    @Test
    void a_form_is_accepted_once_and_for_its_item_alone() throws Exception {
        Item item = activeItem();
        Tokens.Issued form = form(item);
        Money amount = new Money(item.minimumBid().cents() + 500);
        site.auctions().bid(form, new Auctions.NewBid(item.id(), 1, amount, amount), now);
        Money higher = new Money(amount.cents() + 500);
        Refusal again = assertThrows(Refusal.class, () ->
                site.auctions().bid(form, new Auctions.NewBid(item.id(), 1, higher, higher), now));
        assertEquals(409, again.status());
        String token = site.tokens().issue(1, item.id(), Tokens.Purpose.BID, now);
        List<Callable<Tokens.Issued>> wrong = List.of(
                () -> site.tokens().check(token, item.id() + 1, Tokens.Purpose.BID, now),
                () -> site.tokens().check(token, item.id(), Tokens.Purpose.BUY, now),
                () -> site.tokens().check(token, item.id(), Tokens.Purpose.BID, now + 3601),
                () -> site.tokens().check("A" + token.substring(1, 10) + "B" + token.substring(11),
                        item.id(), Tokens.Purpose.BID, now),
                () -> site.tokens().check("%", item.id(), Tokens.Purpose.BID, now),
                () -> site.tokens().check(null, item.id(), Tokens.Purpose.BID, now));
        for (Callable<Tokens.Issued> check : wrong) {
            assertEquals(403, assertThrows(Refusal.class, check::call).status());
        }
    }

    @Test
    void the_population_follows_from_scale_and_seed() throws Exception {
        Listing.Page page = site.listing().inCategory(6, 1, now);
        assertTrue(page.entries() >= 1);
        long total = site.listing().categories(null, now).stream().mapToLong(Listing.Place::items).sum();
        long byRegion = site.listing().regions(now).stream().mapToLong(Listing.Place::items).sum();
        assertEquals(total, byRegion);
        assertEquals("user50", site.people().person(50).nickname());
        assertEquals(50, site.people().signIn("user50", "password50").id());
        assertEquals(401, assertThrows(Refusal.class, () ->
                site.people().signIn("user50' OR '1'='1", "x")).status());
    }

    @Test
    void a_new_user_and_a_new_bid_come_after_those_of_the_population() throws Exception {
        long user = site.people().register(
                new People.NewPerson("ann", "password", "Ann", "Example", "ann@example.test", 1), now);
        assertEquals(51, user);
        assertEquals(user, site.people().signIn("ann", "password").id());
        Item item = activeItem();
        Money amount = item.minimumBid();
        site.auctions().bid(form(item), new Auctions.NewBid(item.id(), 1, amount, amount), now);
        assertEquals(amount, site.auctions().history(item.id()).get(0).amount());
    }

    @Test
    void a_database_is_filled_once_and_kept_at_the_next_start() throws Exception {
        Item item = activeItem();
        Money amount = item.minimumBid();
        site.auctions().bid(form(item), new Auctions.NewBid(item.id(), 1, amount, amount), now);
        Site next = new Site();
        next.open(settings);
        Item kept = next.auctions().item(item.id(), now);
        next.contextDestroyed(null);
        assertEquals(item.bids() + 1, kept.bids());
        assertEquals(item.ends(), kept.ends());
    }

    @Test
    void auctions_of_a_kept_database_go_on_where_they_stopped() throws Exception {
        Item item = activeItem();
        long later = now + 30 * 24 * 3600;
        assertFalse(site.auctions().item(item.id(), later).active());
        try (Database database = new Database(settings.database(), 1)) {
            for (int start = 0; start < 2; start++) {
                database.write(on -> {
                    Auctions.resume(on, later);
                    return null;
                });
                Item resumed = site.auctions().item(item.id(), later);
                assertTrue(resumed.active());
                assertEquals(item.endDate() - now, resumed.endDate() - later, 2 * 3600);
            }
            long running = site.listing().categories(null, later).stream().mapToLong(Listing.Place::items).sum();
            long before = site.listing().categories(null, now).stream().mapToLong(Listing.Place::items).sum();
            assertEquals(before, running, "what was over stays over");
        }
    }

    @Test
    void the_tables_of_another_site_are_refused_and_kept() throws Exception {
        Settings other = new Settings(emptyDatabase(), SCALE, 1, 1);
        try (Database database = new Database(other.database(), 1)) {
            database.write(on -> Sql.change(on, "CREATE TABLE used_forms (expires BIGINT, number BIGINT, stored BIGINT)"));
            String message = assertThrows(SQLException.class, () -> new Site().open(other)).getMessage();
            assertTrue(message.contains("name an empty database"), message);
            assertEquals(0L, database.read(on -> Sql.first(on, "SELECT COUNT(stored) FROM used_forms",
                    row -> row.getLong(1))).orElseThrow());
        }
    }

    @Test
    void amounts_are_exact_and_settings_name_their_mistakes() {
        assertEquals(new Money(1230), Money.parse("12.3"));
        assertEquals("1,234.05", Money.parse("1234.05").shown());
        for (String wrong : new String[] {"", "-1", "1e3", "1.234", "9999999999", " 1", "NaN"}) {
            assertEquals(null, Money.parse(wrong), wrong);
        }
        String message = assertThrows(IllegalArgumentException.class, () ->
                Settings.of(Map.of("AUCTION_SCALE", "NaN"))).getMessage();
        assertTrue(message.startsWith("AUCTION_SCALE = NaN: must be a number from 5.0E-4 to 1.0"), message);
    }

    private Tokens.Issued form(Item item) {
        String token = site.tokens().issue(1, item.id(), Tokens.Purpose.BID, now);
        return site.tokens().check(token, item.id(), Tokens.Purpose.BID, now);
    }

    private Item activeItem() throws Exception {
        return site.listing().endingSoon(1, now + 3600).get(0);
    }
}
