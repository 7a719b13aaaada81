import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** A page of Tomcat that says where it believes to be. */
@WebServlet("/where")
public class Where extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        String host = request.getServerName() + ":" + request.getServerPort();
        response.getWriter().print(request.getScheme() + " " + host + " "
                + request.getRemoteAddr() + " " + request.getRequestURL());
    }
}
