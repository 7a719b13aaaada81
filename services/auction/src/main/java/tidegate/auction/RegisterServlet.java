package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/** Register and RegisterUser. */
@WebServlet("/register")
public final class RegisterServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        call.with("regions", call.site().listing().regions(Site.now())).show("register");
    }

    @Override
    void post(Call call) throws SQLException, ServletException, IOException {
        String nickname = call.text("nickname", 3, 40);
        if (!nickname.matches("[A-Za-z0-9_.-]+")) {
            throw new Refusal(422, "The form is not complete",
                    "A nickname has letters, digits, and the characters _ . - only. Go back and change it.");
        }
        int regions = Catalogue.REGIONS.size();
        long id = call.site().people().register(new People.NewPerson(nickname,
                call.text("password", 6, 100), call.text("firstname", 1, 40),
                call.text("lastname", 1, 40), call.text("email", 3, 80),
                call.number("region", 1, regions)), Site.now());
        call.with("person", call.site().people().person(id)).show("registered");
    }
}
