package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/** AboutMeAuth and AboutMe. */
@WebServlet("/me")
public final class MeServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        call.show("me-sign-in");
    }

    @Override
    void post(Call call) throws SQLException, ServletException, IOException {
        People people = call.site().people();
        Person person = people.signIn(call.field("nickname"), call.field("password"));
        call.with("person", person).with("bids", people.bids(person.id()))
                .with("sales", people.sales(person.id(), Site.now()))
                .with("purchases", people.purchases(person.id()))
                .with("comments", people.comments(person.id())).show("me");
    }
}
