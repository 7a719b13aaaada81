package tidegate.auction;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** Hashes of passwords, written as {@code rounds$salt$hash}. */
final class Passwords {
    private static final int HASH_BITS = 256;

    private Passwords() {}

    static String hash(String password, byte[] salt, int rounds) {
        Base64.Encoder encoder = Base64.getEncoder().withoutPadding();
        String hash = encoder.encodeToString(derive(password, salt, rounds));
        return rounds + "$" + encoder.encodeToString(salt) + "$" + hash;
    }

    /** Whether a password is the one that was hashed. */
    static boolean matches(String password, String stored) {
        String[] parts = stored.split("\\$");
        Base64.Decoder decoder = Base64.getDecoder();
        byte[] derived = derive(password, decoder.decode(parts[1]), Integer.parseInt(parts[0]));
        return MessageDigest.isEqual(derived, decoder.decode(parts[2]));
    }

    private static byte[] derive(String password, byte[] salt, int rounds) {
        PBEKeySpec spec = new PBEKeySpec(password.toCharArray(), salt, rounds, HASH_BITS);
        try {
            return SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(spec).getEncoded();
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("every Java has PBKDF2", error);
        }
    }

    /** The salt of a synthetic user: the same population has the same hashes. */
    static byte[] salt(long user) {
        byte[] text = ("user " + user).getBytes(StandardCharsets.UTF_8);
        try {
            return java.util.Arrays.copyOf(MessageDigest.getInstance("SHA-256").digest(text), 16);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("every Java has SHA-256", error);
        }
    }
}
