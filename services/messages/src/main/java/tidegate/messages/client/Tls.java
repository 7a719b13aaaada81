package tidegate.messages.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/** Contexts of TLS that accept one certificate, or any. A context keeps sessions for resumption. */
final class Tls {
    private final X509Certificate expected;

    /** @param ca a PEM file, or null to accept any certificate */
    Tls(String ca) throws IOException {
        try {
            expected = ca == null ? null : (X509Certificate) CertificateFactory.getInstance("X.509")
                    .generateCertificate(new ByteArrayInputStream(Files.readAllBytes(Path.of(ca))));
        } catch (CertificateException error) {
            throw new IOException("--ca " + ca + ": " + error.getMessage(), error);
        }
    }

    SSLContext context() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, new TrustManager[] {new One(expected)}, null);
            return context;
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("every Java has TLS", error);
        }
    }

    private record One(X509Certificate expected) implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("this is a client");
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            if (expected != null && !expected.equals(chain[0])) {
                throw new CertificateException("the server's certificate is not that of --ca");
            }
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
