package tidegate.messages;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** The work of the service, the same for every kind of security: length and CRC-32 of a payload. */
public final class Answer {
    /** Most bytes of a payload. */
    public static final int LARGEST = 4 * 1024 * 1024;

    private Answer() {}

    public static String to(byte[] payload) {
        CRC32 sum = new CRC32();
        sum.update(payload);
        return payload.length + " bytes, CRC-32 " + Long.toHexString(sum.getValue());
    }

    /** The answer to a text. */
    public static String to(String payload) {
        return to(payload.getBytes(StandardCharsets.UTF_8));
    }
}
