package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.sql.SQLException;

/** ViewUserInfo. */
@WebServlet("/users/*")
public final class UsersServlet extends PageServlet {
    @Override
    void get(Call call) throws SQLException, ServletException, IOException {
        if (!call.is("*")) {
            throw Refusal.notFound("page");
        }
        People people = call.site().people();
        Person person = people.person(call.id(0));
        call.with("person", person).with("comments", people.comments(person.id())).show("user");
    }
}
