package tidegate.messages;

import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Date;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/** A key with a self-signed certificate. */
record Pair(KeyPair key, X509Certificate certificate) {
    static Pair make(String name) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(2048);
        KeyPair key = generator.generateKeyPair();
        X500Name subject = new X500Name("CN=" + name);
        Date from = new Date(System.currentTimeMillis() - 60_000);
        Date until = new Date(System.currentTimeMillis() + 3_600_000);
        try {
            var builder = new JcaX509v3CertificateBuilder(
                    subject, BigInteger.ONE, from, until, subject, key.getPublic());
            var signer = new JcaContentSignerBuilder("SHA256withRSA").build(key.getPrivate());
            return new Pair(key, new JcaX509CertificateConverter().getCertificate(builder.build(signer)));
        } catch (OperatorCreationException error) {
            throw new CertificateException(error);
        }
    }

    /** The keys of this side for messages with the other. */
    Keys with(Pair peer) throws IOException {
        return Keys.of(key.getPrivate(), certificate, peer.certificate);
    }
}
