package tidegate.auction;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The hidden field of a form that a signed-in customer receives: who, for which item, to do what,
 * until when, and a number that is accepted once; with an HMAC over all of it.
 */
final class Tokens {
    /** How long a form can be sent, in seconds. */
    static final long LIFETIME_S = 3600;

    private static final int BODY = 4 * Long.BYTES + 1;
    private static final int TAG = 32;

    private final SecretKeySpec key;
    private final SecureRandom random = new SecureRandom();

    /** What a form is for. */
    enum Purpose {
        BID,
        BUY
    }

    /** What a token says. */
    record Issued(long user, long item, long number, long expires, Purpose purpose) {}

    Tokens() {
        byte[] secret = new byte[32];
        random.nextBytes(secret);
        key = new SecretKeySpec(secret, "HmacSHA256");
    }

    String issue(long user, long item, Purpose purpose, long now) {
        ByteBuffer body = ByteBuffer.allocate(BODY + TAG);
        body.putLong(user).putLong(item).putLong(random.nextLong()).putLong(now + LIFETIME_S);
        body.put((byte) purpose.ordinal());
        body.put(tag(body.array()));
        return Base64.getUrlEncoder().withoutPadding().encodeToString(body.array());
    }

    /**
     * Checks a token.
     *
     * @throws Refusal if it is not one of ours, has expired, or is for something else
     */
    Issued check(String token, long item, Purpose purpose, long now) {
        byte[] bytes;
        try {
            bytes = Base64.getUrlDecoder().decode(token == null ? "" : token);
        } catch (IllegalArgumentException error) {
            throw refused("it was changed on the way");
        }
        if (bytes.length != BODY + TAG) {
            throw refused("it is not one of this site");
        }
        ByteBuffer body = ByteBuffer.wrap(bytes);
        byte[] sent = java.util.Arrays.copyOfRange(bytes, BODY, BODY + TAG);
        if (!MessageDigest.isEqual(sent, tag(bytes))) {
            throw refused("it was changed on the way");
        }
        Issued issued = new Issued(body.getLong(), body.getLong(), body.getLong(), body.getLong(),
                Purpose.values()[body.get()]);
        if (issued.item() != item || issued.purpose() != purpose) {
            throw refused("it was handed out for something else");
        }
        if (issued.expires() < now) {
            throw refused("it is older than an hour");
        }
        return issued;
    }

    private static Refusal refused(String why) {
        return new Refusal(403, "This form is not accepted", "Sign in again: " + why + ".");
    }

    /** The HMAC of the first {@link #BODY} bytes. */
    private byte[] tag(byte[] bytes) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(key);
            mac.update(bytes, 0, BODY);
            return mac.doFinal();
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("every Java has HMAC-SHA256", error);
        }
    }
}
