package tidegate.messages;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.crypto.Merlin;

/**
 * The keys of one side: its own key and certificate, and the certificate of its peer, the only one
 * that it trusts. Both are RSA: message encryption needs a key that encrypts.
 */
public final class Keys {
    /** Names in the stores. */
    static final String OWN = "own";
    static final String PEER = "peer";
    /** Of a store that never leaves memory. */
    static final String PASSWORD = "memory";

    private final Crypto own;
    private final Crypto peer;

    private Keys(Crypto own, Crypto peer) {
        this.own = own;
        this.peer = peer;
    }

    /**
     * Reads {@code OWN.crt}, {@code OWN.key} (PKCS#8) and {@code PEER.crt}, all PEM.
     *
     * @throws IOException naming the file that cannot be used
     */
    public static Keys read(Path folder, String own, String peer) throws IOException {
        X509Certificate certificate = certificate(folder.resolve(own + ".crt"));
        PrivateKey key = key(folder.resolve(own + ".key"));
        return of(key, certificate, certificate(folder.resolve(peer + ".crt")));
    }

    static Keys of(PrivateKey key, X509Certificate own, X509Certificate peer) throws IOException {
        try {
            KeyStore mine = KeyStore.getInstance("PKCS12");
            mine.load(null, null);
            mine.setKeyEntry(OWN, key, PASSWORD.toCharArray(), new X509Certificate[] {own});
            KeyStore theirs = KeyStore.getInstance("PKCS12");
            theirs.load(null, null);
            theirs.setCertificateEntry(PEER, peer);
            return new Keys(crypto(mine), crypto(theirs));
        } catch (GeneralSecurityException error) {
            throw new IOException("the keys cannot be used together: " + error.getMessage(), error);
        }
    }

    private static Crypto crypto(KeyStore store) {
        Merlin crypto = new Merlin();
        crypto.setKeyStore(store);
        return crypto;
    }

    /** With which this side signs and decrypts. */
    Crypto own() {
        return own;
    }

    /** With which it verifies and encrypts. */
    Crypto peer() {
        return peer;
    }

    private static X509Certificate certificate(Path file) throws IOException {
        try {
            return (X509Certificate) CertificateFactory.getInstance("X.509")
                    .generateCertificate(new ByteArrayInputStream(Files.readAllBytes(file)));
        } catch (GeneralSecurityException error) {
            throw new IOException(file + " is no certificate: " + error.getMessage(), error);
        }
    }

    private static PrivateKey key(Path file) throws IOException {
        String text = Files.readString(file).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        try {
            byte[] bytes = Base64.getDecoder().decode(text);
            return KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(bytes));
        } catch (GeneralSecurityException | IllegalArgumentException error) {
            throw new IOException(file + " is no RSA key in PKCS#8: " + error.getMessage(), error);
        }
    }
}
