package tidegate.messages.client;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import javax.net.ssl.SSLContext;

/** HTTP/1.1 over one connection at a time, with its bytes counted as they are on the wire. */
final class Http implements AutoCloseable {
    private static final int TIMEOUT_MS = 60_000;
    private static final int LARGEST_HEAD = 16 * 1024;
    private static final int LARGEST_BODY = 16 * 1024 * 1024;

    private final URI url;
    private final SSLContext tls;
    private CountingSocket wire;
    private Socket socket;
    private InputStream in;
    private boolean reusable;

    /** @param tls for {@code https}; null otherwise */
    Http(URI url, SSLContext tls) {
        this.url = url;
        this.tls = tls;
    }

    /** Bytes of the current connection. */
    long sent() {
        return wire == null ? 0 : wire.sent();
    }

    long received() {
        return wire == null ? 0 : wire.received();
    }

    /**
     * Sends a body and returns the body of the response.
     *
     * @param last whether the connection is for this request alone
     * @throws IOException also if the status is not 200
     */
    byte[] post(byte[] body, String type, boolean last) throws IOException {
        if (socket == null || !reusable) {
            open();
        }
        String path = url.getRawPath().isEmpty() ? "/" : url.getRawPath();
        String head = "POST " + path + " HTTP/1.1\r\nHost: " + url.getRawAuthority()
                + "\r\nContent-Type: " + type + "\r\nContent-Length: " + body.length
                + (last ? "\r\nConnection: close" : "") + "\r\n\r\n";
        byte[] start = head.getBytes(StandardCharsets.US_ASCII);
        byte[] all = java.util.Arrays.copyOf(start, start.length + body.length);
        System.arraycopy(body, 0, all, start.length, body.length);
        socket.getOutputStream().write(all);
        socket.getOutputStream().flush();
        return receive();
    }

    private void open() throws IOException {
        close();
        int port = url.getPort() >= 0 ? url.getPort() : tls == null ? 80 : 443;
        wire = new CountingSocket();
        wire.setTcpNoDelay(true);
        wire.setSoTimeout(TIMEOUT_MS);
        wire.connect(new InetSocketAddress(url.getHost(), port), TIMEOUT_MS);
        socket = tls == null ? wire : tls.getSocketFactory().createSocket(wire, url.getHost(), port, true);
        in = new BufferedInputStream(socket.getInputStream());
    }

    private byte[] receive() throws IOException {
        String status = line();
        int length = -1;
        boolean chunked = false;
        reusable = true;
        for (String field = line(); !field.isEmpty(); field = line()) {
            String lower = field.toLowerCase(Locale.ROOT).replace(" ", "");
            if (lower.startsWith("content-length:")) {
                length = number(lower.substring("content-length:".length()), 10);
            } else if (lower.startsWith("transfer-encoding:chunked")) {
                chunked = true;
            } else if (lower.startsWith("connection:close")) {
                reusable = false;
            }
        }
        byte[] body = chunked ? chunks() : length < 0 ? toTheEnd() : exactly(length);
        if (!status.startsWith("HTTP/1.1 200")) {
            String text = new String(body, 0, Math.min(body.length, 200), StandardCharsets.UTF_8);
            throw new IOException(url + " answered \"" + status + "\": " + text.strip());
        }
        return body;
    }

    private byte[] toTheEnd() throws IOException {
        reusable = false;
        return in.readNBytes(LARGEST_BODY);
    }

    private byte[] chunks() throws IOException {
        java.io.ByteArrayOutputStream body = new java.io.ByteArrayOutputStream();
        while (true) {
            int size = number(line().split(";")[0].strip(), 16);
            if (size == 0) {
                line();
                return body.toByteArray();
            }
            body.write(exactly(size));
            line();
            if (body.size() > LARGEST_BODY) {
                throw new IOException("the response of " + url + " is longer than 16 MiB");
            }
        }
    }

    private byte[] exactly(int length) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException("the response of " + url + " breaks off");
        }
        return bytes;
    }

    private int number(String text, int radix) throws IOException {
        try {
            int number = Integer.parseInt(text, radix);
            if (number >= 0 && number <= LARGEST_BODY) {
                return number;
            }
        } catch (NumberFormatException error) {
            // As a length that is out of range.
        }
        throw new IOException("the response of " + url + " has the length " + text);
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException(url.getHost() + " closed the connection before its response");
            }
            if (line.length() > LARGEST_HEAD) {
                throw new IOException("the response of " + url + " has a line of more than 16 KiB");
            }
            line.append((char) next);
        }
        return line.toString().stripTrailing();
    }

    @Override
    public void close() throws IOException {
        reusable = false;
        if (socket != null) {
            socket.close();
            socket = null;
        }
    }
}
