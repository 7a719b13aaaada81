package tidegate.auction;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;

/** What all pages have in common: they read a path, show a JSP page, and answer what goes wrong. */
abstract class PageServlet extends HttpServlet {
    /** A request with its answer, and the parts of its path below the servlet's own. */
    record Call(HttpServletRequest request, HttpServletResponse response, String[] path, Site site) {
        /** Whether the path has these parts; {@code *} stands for any one. */
        boolean is(String... pattern) {
            if (pattern.length != path.length) {
                return false;
            }
            for (int part = 0; part < pattern.length; part++) {
                if (!pattern[part].equals("*") && !pattern[part].equals(path[part])) {
                    return false;
                }
            }
            return true;
        }

        /** @throws Refusal if this part is no id */
        long id(int part) {
            if (!path[part].matches("\\d{1,18}")) {
                throw Refusal.notFound("page");
            }
            return Long.parseLong(path[part]);
        }

        String field(String name) {
            return request.getParameter(name);
        }

        /** @throws Refusal if the field is not a text of so many characters */
        String text(String name, int least, int most) {
            String value = field(name);
            if (value == null || value.length() < least || value.length() > most) {
                throw new Refusal(422, "The form is not complete", "The field " + name
                        + " must have " + least + " to " + most + " characters. Go back and fill it in.");
            }
            return value;
        }

        /** @throws Refusal if the field is not a whole number of this range */
        int number(String name, int least, int most) {
            String value = field(name);
            boolean digits = value != null && value.matches("\\d{1,9}");
            int number = digits ? Integer.parseInt(value) : -1;
            if (number < least || number > most) {
                throw new Refusal(422, "The form is not complete", "The field " + name
                        + " must be a whole number from " + least + " to " + most + ". Go back and fill it in.");
            }
            return number;
        }

        /** @throws Refusal if the field is no amount of money */
        Money money(String name) {
            Money money = Money.parse(field(name));
            if (money == null) {
                throw new Refusal(422, "The form is not complete", "The field " + name
                        + " must be an amount such as 12.50. Go back and fill it in.");
            }
            return money;
        }

        /** The {@code ?page=N} of a list, from 1. */
        long page() {
            String page = field("page");
            return page == null ? 1 : number("page", 1, 1_000_000);
        }

        /** Something that the page shows. */
        Call with(String name, Object value) {
            request.setAttribute(name, value);
            return this;
        }

        void show(String page) throws ServletException, IOException {
            request.getRequestDispatcher("/WEB-INF/jsp/" + page + ".jsp").forward(request, response);
        }
    }

    /** Answers GET; refuses what it does not know. */
    void get(Call call) throws SQLException, ServletException, IOException {
        throw Refusal.notFound("page");
    }

    /** Answers POST; refuses what it does not know. */
    void post(Call call) throws SQLException, ServletException, IOException {
        throw Refusal.notFound("page");
    }

    @Override
    protected final void doGet(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        answer(request, response, false);
    }

    @Override
    protected final void doPost(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        answer(request, response, true);
    }

    private void answer(HttpServletRequest request, HttpServletResponse response, boolean post)
            throws ServletException, IOException {
        request.setCharacterEncoding("UTF-8");
        String below = request.getPathInfo() == null ? "/" : request.getPathInfo();
        String[] path = below.equals("/") ? new String[0] : below.substring(1).split("/", -1);
        Call call = new Call(request, response, path, Site.of(getServletContext()));
        try {
            if (post) {
                post(call);
            } else {
                get(call);
            }
        } catch (Refusal refusal) {
            response.setStatus(refusal.status());
            call.with("title", refusal.title()).with("why", refusal.getMessage()).show("refusal");
        } catch (SQLException error) {
            // The pool is empty for longer than customers wait, or the database is gone.
            getServletContext().log("the database failed", error);
            response.setStatus(503);
            call.with("title", "The site is not available")
                    .with("why", "Its database does not answer. Try again in a minute.")
                    .show("refusal");
        }
    }
}
