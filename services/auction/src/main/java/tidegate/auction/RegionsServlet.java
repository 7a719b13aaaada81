package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/** BrowseRegions, BrowseCategoriesInRegion and SearchItemsInRegion. */
@WebServlet("/regions/*")
public final class RegionsServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        Listing listing = call.site().listing();
        long now = Site.now();
        if (call.is()) {
            call.with("regions", listing.regions(now)).show("regions");
            return;
        }
        if (!call.is("*") && !call.is("*", "categories", "*")) {
            throw Refusal.notFound("page");
        }
        long region = call.id(0);
        String name = listing.name("regions", region).orElseThrow(() -> Refusal.notFound("region"));
        String path = "/regions/" + region + "/categories";
        if (call.is("*")) {
            call.with("categories", listing.categories(region, now)).with("path", path)
                    .with("title", name).show("categories");
            return;
        }
        long category = call.id(2);
        String title = listing.name("categories", category)
                .orElseThrow(() -> Refusal.notFound("category")) + " in " + name;
        call.with("list", listing.inRegion(region, category, call.page(), now)).with("title", title)
                .with("path", path + "/" + category).show("items");
    }
}
