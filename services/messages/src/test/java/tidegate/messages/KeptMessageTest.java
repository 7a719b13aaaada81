package tidegate.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.xml.security.encryption.XMLCipher;
import org.apache.xml.security.signature.XMLSignature;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/**
 * Apache Santuario opens the message that our own service keeps for it: what that one writes is
 * XML Encryption and XML Signature also for another implementation.
 */
class KeptMessageTest {
    private static final Path KEPT = Path.of("..", "..", "sites", "messages", "tests", "xml");
    private static final String DSIG = "http://www.w3.org/2000/09/xmldsig#";

    private static PrivateKey decrypting;
    private static PublicKey verifying;

    @BeforeAll
    static void readKeys() throws Exception {
        WSSConfig.init();
        KeyFactory factory = KeyFactory.getInstance("EC");
        String keys = Files.readString(KEPT.resolve("server.json"));
        decrypting = factory.generatePrivate(new PKCS8EncodedKeySpec(key(keys, "decrypting")));
        verifying = factory.generatePublic(new X509EncodedKeySpec(key(keys, "peer_verifying")));
    }

    @Test
    void the_message_is_decrypted_and_its_signature_is_right() throws Exception {
        Document message = parse(decrypted());
        assertTrue(verified(message));
        Element root = message.getDocumentElement();
        assertEquals("kept for other implementations: <&\">", text(root, "Payload"));
        assertEquals("client", text(root, "Sender"));
    }

    @Test
    void the_signature_is_not_that_of_another_payload() throws Exception {
        Document message = parse(decrypted());
        message.getElementsByTagName("Payload").item(0).setTextContent("another");
        assertFalse(verified(message));
    }

    private static byte[] decrypted() throws Exception {
        Document encrypted = parse(Files.readAllBytes(KEPT.resolve("message.xml")));
        XMLCipher cipher = XMLCipher.getInstance();
        cipher.init(XMLCipher.DECRYPT_MODE, null);
        cipher.setKEK(decrypting);
        return cipher.decryptToByteArray(encrypted.getDocumentElement());
    }

    private static boolean verified(Document message) throws Exception {
        message.getDocumentElement().setIdAttribute("Id", true);
        Element signature = (Element) message.getElementsByTagNameNS(DSIG, "Signature").item(0);
        return new XMLSignature(signature, "", true).checkSignatureValue(verifying);
    }

    private static String text(Element parent, String name) {
        return parent.getElementsByTagName(name).item(0).getTextContent();
    }

    private static byte[] key(String json, String name) throws IOException {
        Matcher found = Pattern.compile("\"" + name + "\": *\"([^\"]+)\"").matcher(json);
        if (!found.find()) {
            throw new IOException("server.json has no " + name);
        }
        return Base64.getDecoder().decode(found.group(1));
    }

    private static Document parse(byte[] xml) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
        return factory.newDocumentBuilder().parse(new ByteArrayInputStream(xml));
    }
}
