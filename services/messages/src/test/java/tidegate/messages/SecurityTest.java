package tidegate.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.dom.WSConstants;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** Which messages are refused. */
class SecurityTest {
    private static final String WSU =
            "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

    private static Pair clientPair;
    private static Pair serverPair;
    private static Pair stranger;
    private Security client;
    private Security server;

    @BeforeAll
    static void makeKeys() throws Exception {
        clientPair = Pair.make("client");
        serverPair = Pair.make("server");
        stranger = Pair.make("client");
    }

    @BeforeEach
    void begin() throws Exception {
        client = new Security(clientPair.with(serverPair));
        server = new Security(serverPair.with(clientPair));
    }

    @Test
    void a_sealed_message_is_unreadable_on_its_way_and_opens_at_the_peer() throws Exception {
        byte[] sent = sealed("a secret");
        assertFalse(new String(sent, StandardCharsets.UTF_8).contains("a secret"));
        Document message = Soap.parse(sent);
        server.open(message);
        assertEquals("a secret", Soap.text(message, "request"));
    }

    @Test
    void a_message_without_security_is_refused() throws Exception {
        refused(Soap.bytes(Soap.envelope("request", "x")), "no security header");
    }

    @Test
    void the_key_of_a_stranger_is_refused_even_under_the_same_name() throws Exception {
        Security other = new Security(stranger.with(serverPair));
        refused(Soap.bytes(other.seal(Soap.envelope("request", "x"))), "signature or decryption was invalid");
    }

    @Test
    void an_altered_body_is_refused() throws Exception {
        Document message = Soap.parse(sealed("x"));
        Element cipher = first(Soap.body(message), WSConstants.ENC_NS, "CipherValue");
        String text = cipher.getTextContent();
        char changed = text.charAt(20) == 'A' ? 'B' : 'A';
        cipher.setTextContent(text.substring(0, 20) + changed + text.substring(21));
        refused(Soap.bytes(message), "Tag mismatch");
    }

    @Test
    void an_altered_timestamp_is_refused() throws Exception {
        Document message = Soap.parse(sealed("x"));
        Element expires = first(message.getDocumentElement(), WSU, "Expires");
        String stated = expires.getTextContent();
        // Other digits than those that are there.
        expires.setTextContent(stated.replaceFirst("\\.\\d+Z", stated.endsWith(".999Z") ? ".998Z" : ".999Z"));
        refused(Soap.bytes(message), "signature or decryption was invalid");
    }

    @Test
    void a_message_is_accepted_once() throws Exception {
        byte[] sent = sealed("x");
        server.open(Soap.parse(sent));
        refused(sent, "replay attack");
    }

    @Test
    void an_expired_message_is_refused() throws Exception {
        byte[] sent = sealedAt(Instant.now().minusSeconds(2 * Security.LIFETIME_S));
        refused(sent, "timestamp has expired");
    }

    @Test
    void a_message_of_the_future_is_refused() throws Exception {
        byte[] sent = sealedAt(Instant.now().plusSeconds(2 * Security.SKEW_S));
        refused(sent, "timestamp");
    }

    @Test
    void a_message_for_another_party_is_refused() throws Exception {
        Security toAnother = new Security(clientPair.with(Pair.make("server")));
        refused(Soap.bytes(toAnother.seal(Soap.envelope("request", "x"))), "security does not hold");
    }

    @Test
    void a_signature_that_leaves_out_body_or_timestamp_is_refused() throws Exception {
        for (WSEncryptionPart only : List.of(Security.BODY, Security.TIMESTAMP)) {
            Document message = client.seal(
                    Soap.envelope("request", "x"), Instant::now, Security.LIFETIME_S, only);
            refused(Soap.bytes(message), "not its body and timestamp");
        }
    }

    @Test
    void what_was_signed_in_another_canonical_writing_is_accepted() throws Exception {
        String text = new String(sealed("x"), StandardCharsets.UTF_8);
        String other = text.replaceFirst(" ", "\n   ");
        assertFalse(other.equals(text));
        Document message = Soap.parse(other.getBytes(StandardCharsets.UTF_8));
        server.open(message);
        assertEquals("x", Soap.text(message, "request"));
    }

    @Test
    void xml_that_is_no_soap_is_refused() {
        refused("<a/>".getBytes(StandardCharsets.UTF_8), "no SOAP 1.2 envelope");
        String empty = "<e:Envelope xmlns:e='" + Soap.ENVELOPE + "'/>";
        refused(empty.getBytes(StandardCharsets.UTF_8), "no element Body");
    }

    @Test
    void a_signed_body_that_was_moved_aside_for_another_is_refused() throws Exception {
        Document message = Soap.parse(sealed("harmless"));
        Element envelope = message.getDocumentElement();
        Element body = Soap.body(message);
        Element header = (Element) envelope.getFirstChild();
        Element wrapper = message.createElementNS("urn:wrapper", "w:wrapper");
        envelope.replaceChild(message.importNode(Soap.body(Soap.envelope("request", "evil")), true), body);
        wrapper.appendChild(body);
        header.appendChild(wrapper);
        refused(Soap.bytes(message), "not its body and timestamp");
    }

    @Test
    void a_second_body_is_refused() throws Exception {
        Document message = Soap.parse(sealed("harmless"));
        Element envelope = message.getDocumentElement();
        envelope.insertBefore(message.importNode(Soap.body(Soap.envelope("request", "evil")), true),
                Soap.body(message));
        refused(Soap.bytes(message), "several elements Body");
    }

    @Test
    void a_signature_alone_is_refused_as_the_body_must_be_encrypted() throws Exception {
        Document message = Soap.parse(sealed("x"));
        // What the body says in the clear is what was signed; only its encryption is gone.
        Document opened = Soap.parse(sealed("x"));
        server.open(opened);
        Element body = Soap.body(message);
        Node clear = message.importNode(Soap.body(opened).getFirstChild(), true);
        body.replaceChild(clear, body.getFirstChild());
        Element key = first(message.getDocumentElement(), WSConstants.ENC_NS, "EncryptedKey");
        key.getParentNode().removeChild(key);
        refused(Soap.bytes(message), "its body was not encrypted");
    }

    @Test
    void another_algorithm_of_the_signature_is_refused() throws Exception {
        String text = new String(sealed("x"), StandardCharsets.UTF_8);
        String weak = text.replace(WSConstants.RSA_SHA256, WSConstants.RSA_SHA1);
        assertFalse(weak.equals(text));
        refused(weak.getBytes(StandardCharsets.UTF_8), "security does not hold");
        String hmac = text.replace(WSConstants.RSA_SHA256, WSConstants.HMAC_SHA256);
        refused(hmac.getBytes(StandardCharsets.UTF_8), "security does not hold");
    }

    @Test
    void a_document_with_entities_is_refused_before_they_expand() {
        String bomb = "<!DOCTYPE a [<!ENTITY b \"" + "x".repeat(1000) + "\">"
                + "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">]><a>&c;&c;&c;&c;</a>";
        refused(bomb.getBytes(StandardCharsets.UTF_8), "without a DTD");
        refused("no xml".getBytes(StandardCharsets.UTF_8), "well-formed");
    }

    @Test
    void a_compressed_message_is_refused_and_not_decompressed() throws Exception {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(compressed)) {
            gzip.write(sealed("x"));
        }
        refused(compressed.toByteArray(), "well-formed");
    }

    @Test
    void the_own_message_sent_back_is_refused() throws Exception {
        refused(Soap.bytes(server.seal(Soap.envelope("request", "x"))), "security does not hold");
    }

    @Test
    void an_encrypted_body_without_a_signature_is_refused() throws Exception {
        Document message = Soap.parse(sealed("x"));
        Element signature = first(message.getDocumentElement(), WSConstants.SIG_NS, "Signature");
        signature.getParentNode().removeChild(signature);
        refused(Soap.bytes(message), "not its body and timestamp");
    }

    private byte[] sealed(String text) throws Refused {
        return Soap.bytes(client.seal(Soap.envelope("request", text)));
    }

    private byte[] sealedAt(Instant time) throws Refused {
        Document message = client.seal(Soap.envelope("request", "x"), () -> time, Security.LIFETIME_S,
                Security.BODY, Security.TIMESTAMP);
        return Soap.bytes(message);
    }

    private void refused(byte[] sent, String why) {
        Refused refused = assertThrows(Refused.class, () -> server.open(Soap.parse(sent)));
        assertTrue(refused.getMessage().contains(why), refused.getMessage());
    }

    private static Element first(Element below, String space, String name) {
        return (Element) below.getElementsByTagNameNS(space, name).item(0);
    }
}
