package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/**
 * ViewItem and ViewBidHistory; PutBidAuth, PutBid and StoreBid; BuyNowAuth, BuyNow and
 * StoreBuyNow.
 */
@WebServlet("/items/*")
public final class ItemsServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        if (call.is("*")) {
            call.with("item", item(call)).show("item");
        } else if (call.is("*", "bids")) {
            Item item = item(call);
            call.with("item", item).with("history", call.site().auctions().history(item.id()))
                    .show("history");
        } else if (call.is("*", "bid")) {
            call.with("item", Auctions.active(item(call))).with("verb", "bid").show("sign-in");
        } else if (call.is("*", "buy")) {
            call.with("item", Auctions.purchasable(item(call))).with("verb", "buy").show("sign-in");
        } else {
            throw Refusal.notFound("page");
        }
    }

    @Override
    void post(Call call) throws SQLException, ServletException, IOException {
        if (call.is("*", "bid")) {
            form(call, Tokens.Purpose.BID);
        } else if (call.is("*", "buy")) {
            form(call, Tokens.Purpose.BUY);
        } else if (call.is("*", "bids")) {
            storeBid(call);
        } else if (call.is("*", "purchases")) {
            storePurchase(call);
        } else {
            throw Refusal.notFound("page");
        }
    }

    private static Item item(Call call) throws SQLException {
        return call.site().auctions().item(call.id(0), Site.now());
    }

    /** Signs the customer in and hands out the form of a bid or purchase. */
    private static void form(Call call, Tokens.Purpose purpose)
            throws SQLException, ServletException, IOException {
        Site site = call.site();
        Person person = site.people().signIn(call.field("nickname"), call.field("password"));
        Item item = Auctions.active(item(call));
        if (purpose == Tokens.Purpose.BUY) {
            Auctions.purchasable(item);
        }
        if (person.id() == item.seller()) {
            throw new Refusal(403, "This is your own item", "Sellers neither bid on their items nor buy them.");
        }
        call.with("item", item).with("person", person)
                .with("auth", site.tokens().issue(person.id(), item.id(), purpose, Site.now()))
                .show(purpose == Tokens.Purpose.BID ? "bid" : "buy");
    }

    private static void storeBid(Call call) throws SQLException, ServletException, IOException {
        Site site = call.site();
        long now = Site.now();
        Tokens.Issued form = site.tokens().check(call.field("auth"), call.id(0), Tokens.Purpose.BID, now);
        Money bid = call.money("bid");
        Money limit = call.money("max_bid");
        if (limit.compareTo(bid) < 0) {
            throw new Refusal(422, "Your limit is below your bid", "Go back and raise it.");
        }
        int quantity = call.number("quantity", 1, 1_000_000);
        try {
            Item item = site.auctions().bid(form, new Auctions.NewBid(form.item(), quantity, bid, limit), now);
            call.with("item", item).with("bid", bid).show("bid-stored");
        } catch (Auctions.Outbid outbid) {
            // The form again, from the new minimum up.
            call.response().setStatus(409);
            call.with("item", outbid.item()).with("outbid", bid)
                    .with("person", site.people().person(form.user())).with("auth", call.field("auth"))
                    .show("bid");
        }
    }

    private static void storePurchase(Call call) throws SQLException, ServletException, IOException {
        Site site = call.site();
        long now = Site.now();
        Tokens.Issued form = site.tokens().check(call.field("auth"), call.id(0), Tokens.Purpose.BUY, now);
        int quantity = call.number("quantity", 1, 1_000_000);
        Item item = site.auctions().buy(form, quantity, now);
        call.with("item", item).with("quantity", quantity)
                .with("total", new Money(item.buyNow().cents() * quantity)).show("bought");
    }
}
