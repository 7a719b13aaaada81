package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/** The front page, and the page from which browsing begins. */
@WebServlet({"", "/browse", "/healthz"})
public final class HomeServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        Site site = call.site();
        switch (call.request().getServletPath()) {
            case "/healthz" -> {
                site.listing().name("regions", 1).orElseThrow(() -> Refusal.notFound("population"));
                call.response().setContentType("text/plain");
                call.response().getWriter().print("ok\n");
            }
            case "/browse" -> call.with("categories", site.listing().categories(null, Site.now()))
                    .with("regions", site.listing().regions(Site.now()))
                    .show("browse");
            default -> call.with("items", site.listing().endingSoon(10, Site.now())).show("home");
        }
    }
}
