package tidegate.auction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Bids, purchases and forms on a small population. */
class AuctionsTest {
    private final Site site = new Site();
    private final long now = Site.now();

    @BeforeEach
    void open() throws Exception {
        site.open(new Settings("jdbc:h2:mem:test" + System.nanoTime() + ";DB_CLOSE_DELAY=-1", 0.0005, 8, 1));
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
