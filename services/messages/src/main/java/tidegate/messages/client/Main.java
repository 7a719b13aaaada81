package tidegate.messages.client;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import tidegate.messages.Answer;
import tidegate.messages.Keys;
import tidegate.messages.Refused;
import tidegate.messages.Security;
import tidegate.messages.Soap;

/**
 * Sends requests one after the other from each client, checks every answer, and then writes a line
 * of JSON per request: its number from 1 in the order of their starts, its time in microseconds
 * from before the message is built until the answer was verified, and the bytes on the wire. The
 * last line has the CPU time of the clients' threads in microseconds, without that of compiler and
 * garbage collector.
 */
public final class Main {
    private final Arguments arguments;
    private final String payload;
    private final String answer;
    private final Tls tls;
    private final Security security;
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicLong cpuNanos = new AtomicLong();
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private final long[] micros;
    private final long[] sent;
    private final long[] received;

    private Main(Arguments arguments) throws IOException, Refused {
        this.arguments = arguments;
        payload = "x".repeat(arguments.payload());
        answer = Answer.to(payload);
        tls = new Tls(arguments.ca());
        security = arguments.security() == Arguments.Messages.WSS
                ? new Security(Keys.read(Path.of(arguments.keys()), "client", "server")) : null;
        micros = new long[arguments.requests()];
        sent = new long[arguments.requests()];
        received = new long[arguments.requests()];
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
        Thread[] clients = new Thread[arguments.clients()];
        for (int index = 0; index < clients.length; index++) {
            clients[index] = new Thread(this::client);
            clients[index].start();
        }
        for (Thread client : clients) {
            client.join();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        try (Writer out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII))) {
            for (int index = 0; index < micros.length; index++) {
                out.write("{\"request\": " + (index + 1) + ", \"us\": " + micros[index]
                        + ", \"bytes_out\": " + sent[index] + ", \"bytes_in\": " + received[index] + "}\n");
            }
            out.write("{\"cpu_us\": " + cpuNanos.get() / 1000 + "}\n");
        }
    }

    /** Sends requests until all have begun, or one has failed. */
    private void client() {
        Http connection = null;
        try {
            boolean https = arguments.url().getScheme().equals("https");
            boolean keep = arguments.connection() == Arguments.Connections.KEEP;
            boolean fresh = arguments.connection() == Arguments.Connections.NEW;
            var shared = https ? tls.context() : null;
            for (int index = next.getAndIncrement(); index < micros.length && failure.get() == null;
                    index = next.getAndIncrement()) {
                long start = System.nanoTime();
                if (connection == null || !keep) {
                    connection = new Http(arguments.url(), fresh && https ? tls.context() : shared);
                }
                long sentBefore = connection.sent();
                long receivedBefore = connection.received();
                exchange(connection, !keep);
                micros[index] = (System.nanoTime() - start) / 1000;
                if (!keep) {
                    connection.close();
                }
                // A connection that had to be opened again counts from zero.
                sent[index] = connection.sent() - (connection.sent() < sentBefore ? 0 : sentBefore);
                received[index] = connection.received()
                        - (connection.received() < receivedBefore ? 0 : receivedBefore);
            }
            if (connection != null) {
                connection.close();
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
