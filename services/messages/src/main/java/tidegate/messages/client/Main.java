package tidegate.messages.client;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import tidegate.messages.Answer;
import tidegate.messages.Keys;
import tidegate.messages.Refused;
import tidegate.messages.Security;
import tidegate.messages.Soap;

/**
 * Sends series of requests: that of the command line, or one for each line of standard input. Each
 * client sends one request after the other and checks every answer. After a series it writes a line
 * of JSON per request: its number from 1 in the order of their starts, its time in microseconds
 * from before the message is built until the answer was verified, and the bytes on the wire. The
 * last line of a series has the CPU time of the clients' threads in microseconds, without that of
 * compiler and garbage collector. Clients keep their connections and TLS sessions from one series to
 * the next.
 */
public final class Main {
    private final Arguments arguments;
    private final Tls tls;
    private final Security security;
    private final List<Client> clients = new ArrayList<>();

    private Main(Arguments arguments) throws IOException, Refused {
        this.arguments = arguments;
        tls = new Tls(arguments.ca());
        security = arguments.security() == Arguments.Messages.WSS
                ? new Security(Keys.read(Path.of(arguments.keys()), "client", "server")) : null;
    }

    public static void main(String[] given) {
        try {
            new Main(Arguments.parse(given, System.getenv())).run();
        } catch (IllegalArgumentException error) {
            end(2, error.getMessage());
        } catch (Exception error) {
            String text = error.getMessage() == null ? error.toString() : error.getMessage();
            end(3, text);
        }
    }

    private static void end(int code, String message) {
        System.err.println("messages client: " + message);
        System.exit(code);
    }

    private void run() throws Exception {
        try (Writer out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII))) {
            if (arguments.series() != null) {
                new Sending(arguments.series()).run(out);
            } else {
                var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    new Sending(Arguments.Series.parse(line)).run(out);
                }
            }
        }
        for (Client client : clients) {
            client.close();
        }
    }

    /** A client with its connection, if it has one, and its TLS sessions. */
    private final class Client {
        private final SSLContext sessions = isSecure() ? tls.context() : null;
        private Http connection;

        /** A connection for a request. */
        Http connection(Arguments.Connections kind) throws IOException {
            if (connection == null || kind != Arguments.Connections.KEEP) {
                close();
                boolean fresh = kind == Arguments.Connections.NEW && isSecure();
                connection = new Http(arguments.url(), fresh ? tls.context() : sessions);
            }
            return connection;
        }

        void close() throws IOException {
            if (connection != null) {
                connection.close();
                connection = null;
            }
        }
    }

    private boolean isSecure() {
        return arguments.url().getScheme().equals("https");
    }

    /** A series while it is sent. */
    private final class Sending {
        private final Arguments.Series series;
        private final String payload;
        private final String answer;
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicLong cpuNanos = new AtomicLong();
        private final AtomicReference<Exception> failure = new AtomicReference<>();
        private final long[] micros;
        private final long[] sent;
        private final long[] received;

        Sending(Arguments.Series series) {
            this.series = series;
            payload = "x".repeat(series.payload());
            answer = Answer.to(payload);
            micros = new long[series.requests()];
            sent = new long[series.requests()];
            received = new long[series.requests()];
        }

        void run(Writer out) throws Exception {
            while (clients.size() < series.clients()) {
                clients.add(new Client());
            }
            List<Thread> threads = new ArrayList<>();
            for (Client client : clients.subList(0, series.clients())) {
                threads.add(new Thread(() -> send(client)));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            if (failure.get() != null) {
                throw failure.get();
            }
            for (int index = 0; index < micros.length; index++) {
                out.write("{\"request\": " + (index + 1) + ", \"us\": " + micros[index]
                        + ", \"bytes_out\": " + sent[index] + ", \"bytes_in\": " + received[index] + "}\n");
            }
            out.write("{\"cpu_us\": " + cpuNanos.get() / 1000 + "}\n");
            out.flush();
        }

        /** Sends requests until all have begun, or one has failed. */
        private void send(Client client) {
            try {
                boolean keep = series.connection() == Arguments.Connections.KEEP;
                for (int index = next.getAndIncrement(); index < micros.length && failure.get() == null;
                        index = next.getAndIncrement()) {
                    long start = System.nanoTime();
                    Http connection = client.connection(series.connection());
                    long sentBefore = connection.sent();
                    long receivedBefore = connection.received();
                    exchange(connection, !keep);
                    micros[index] = (System.nanoTime() - start) / 1000;
                    if (!keep) {
                        client.close();
                    }
                    // A connection that had to be opened again counts from zero.
                    sent[index] = connection.sent() - (connection.sent() < sentBefore ? 0 : sentBefore);
                    received[index] = connection.received()
                            - (connection.received() < receivedBefore ? 0 : receivedBefore);
                }
            } catch (IOException | Refused | RuntimeException error) {
                failure.compareAndSet(null, error);
            } finally {
                cpuNanos.addAndGet(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime());
            }
        }

        private void exchange(Http connection, boolean last) throws IOException, Refused {
            String found;
            if (arguments.security() == Arguments.Messages.NONE) {
                byte[] body = payload.getBytes(StandardCharsets.UTF_8);
                byte[] reply = connection.post(body, "application/octet-stream", last);
                found = new String(reply, StandardCharsets.UTF_8).strip();
            } else {
                var request = Soap.envelope("request", payload);
                byte[] body = Soap.bytes(security == null ? request : security.seal(request));
                var reply = Soap.parse(connection.post(body, "application/soap+xml", last));
                if (security != null) {
                    security.open(reply);
                }
                found = Soap.text(reply, "response");
            }
            if (!found.equals(answer)) {
                throw new Refused("the answer of " + arguments.url() + " is wrong: \"" + found
                        + "\" instead of \"" + answer + "\"");
            }
        }
    }
}
