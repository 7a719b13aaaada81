package tidegate.messages;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.w3c.dom.Document;

/**
 * The service as SOAP: {@code /soap} without security, {@code /secure} with signed and encrypted
 * messages. The keys are in the folder that {@code MESSAGES_KEYS} names.
 */
@WebServlet(urlPatterns = {"/soap", "/secure", "/healthz"}, loadOnStartup = 1)
public final class SoapServlet extends HttpServlet {
    /** Ciphertext is Base64 within XML: a third longer than the payload. */
    private static final int LARGEST = 2 * Answer.LARGEST;

    private transient Security security;

    @Override
    public void init() throws ServletException {
        String folder = System.getenv("MESSAGES_KEYS");
        if (folder == null) {
            // The other pages work without keys.
            return;
        }
        try {
            security = new Security(Keys.read(Path.of(folder), "server", "client"));
        } catch (IOException | Refused error) {
            throw new ServletException("MESSAGES_KEYS = " + folder + ": " + error.getMessage(), error);
        }
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        if (!request.getServletPath().equals("/healthz")) {
            refuse(response, 405, "messages are sent with POST");
            return;
        }
        response.setContentType("text/plain");
        response.getWriter().print("ok\n");
    }

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
        boolean secure = request.getServletPath().equals("/secure");
        if (secure && security == null) {
            refuse(response, 503, "there are no keys: set MESSAGES_KEYS to a folder with server.crt,"
                    + " server.key and client.crt");
            return;
        }
        byte[] sent = request.getInputStream().readNBytes(LARGEST + 1);
        if (sent.length > LARGEST) {
            refuse(response, 413, "a message has at most " + LARGEST + " bytes");
            return;
        }
        byte[] answer;
        try {
            Document message = Soap.parse(sent);
            if (secure) {
                security.open(message);
            }
            Document reply = Soap.envelope("response", Answer.to(Soap.text(message, "request")));
            answer = Soap.bytes(secure ? security.seal(reply) : reply);
        } catch (Refused refused) {
            // The reason goes to the log alone: it helps to forge messages (padding oracles).
            getServletContext().log("message refused: " + refused.getMessage());
            refuse(response, 400, "the message is not accepted");
            return;
        }
        response.setContentType("application/soap+xml");
        response.setContentLength(answer.length);
        response.getOutputStream().write(answer);
    }

    private static void refuse(HttpServletResponse response, int status, String why) throws IOException {
        byte[] text = (why + "\n").getBytes(StandardCharsets.UTF_8);
        response.setStatus(status);
        response.setContentType("text/plain");
        response.setContentLength(text.length);
        response.getOutputStream().write(text);
    }
}
