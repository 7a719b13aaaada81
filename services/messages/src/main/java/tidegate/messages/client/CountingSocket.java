package tidegate.messages.client;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** A socket that counts its bytes; with TLS above it, those of the records. */
final class CountingSocket extends Socket {
    private long sent;
    private long received;

    long sent() {
        return sent;
    }

    long received() {
        return received;
    }

    @Override
    public InputStream getInputStream() throws IOException {
        return new FilterInputStream(super.getInputStream()) {
            @Override
            public int read() throws IOException {
                int next = super.read();
                received += next < 0 ? 0 : 1;
                return next;
            }

            @Override
            public int read(byte[] bytes, int from, int length) throws IOException {
                int count = super.read(bytes, from, length);
                received += Math.max(count, 0);
                return count;
            }
        };
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        return new FilterOutputStream(super.getOutputStream()) {
            @Override
            public void write(int next) throws IOException {
                out.write(next);
                sent += 1;
            }

            @Override
            public void write(byte[] bytes, int from, int length) throws IOException {
                out.write(bytes, from, length);
                sent += length;
            }
        };
    }
}
