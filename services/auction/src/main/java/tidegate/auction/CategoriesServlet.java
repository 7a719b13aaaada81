package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/** BrowseCategories and SearchItemsInCategory. */
@WebServlet("/categories/*")
public final class CategoriesServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        Listing listing = call.site().listing();
        long now = Site.now();
        if (call.is()) {
            call.with("categories", listing.categories(null, now)).with("path", "/categories")
                    .with("title", "Categories").show("categories");
        } else if (call.is("*")) {
            long category = call.id(0);
            String name = listing.name("categories", category)
                    .orElseThrow(() -> Refusal.notFound("category"));
            call.with("list", listing.inCategory(category, call.page(), now)).with("title", name)
                    .with("path", "/categories/" + category).show("items");
        } else {
            throw Refusal.notFound("page");
        }
    }
}
