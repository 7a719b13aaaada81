package tidegate.messages;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import javax.security.auth.callback.CallbackHandler;
import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.cache.MemoryReplayCache;
import org.apache.wss4j.common.cache.ReplayCache;
import org.apache.wss4j.common.crypto.AlgorithmSuite;
import org.apache.wss4j.common.ext.WSPasswordCallback;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.util.KeyUtils;
import org.apache.wss4j.common.util.WSTimeSource;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.WSDataRef;
import org.apache.wss4j.dom.engine.WSSConfig;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.wss4j.dom.engine.WSSecurityEngineResult;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.handler.WSHandlerResult;
import org.apache.wss4j.dom.message.WSSecEncrypt;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecSignature;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/**
 * Signs and encrypts messages, and opens those of the peer.
 *
 * <p>A message is accepted only if body and timestamp are signed by the peer's key, the body was
 * encrypted, the timestamp is fresh, and it was not accepted before. What is signed must be the
 * very elements that are used: the body of the envelope and the timestamp of its security header
 * (signature wrapping). Only the algorithms below are accepted.
 */
public final class Security {
    /** How long a message is valid, in seconds. */
    static final int LIFETIME_S = 60;
    /** How far the clocks of both sides may differ, in seconds. */
    static final int SKEW_S = 5;

    private static final String SIGNATURE = WSConstants.RSA_SHA256;
    private static final String DIGEST = WSConstants.SHA256;
    private static final String CANONICAL = WSConstants.C14N_EXCL_OMIT_COMMENTS;
    private static final String CIPHER = WSConstants.AES_128_GCM;
    private static final String KEY_TRANSPORT = WSConstants.KEYTRANSPORT_RSAOAEP;

    static final WSEncryptionPart BODY = new WSEncryptionPart("Body", Soap.ENVELOPE, "");
    static final WSEncryptionPart TIMESTAMP = new WSEncryptionPart("Timestamp", WSConstants.WSU_NS, "");

    static {
        WSSConfig.init();
    }

    private final Keys keys;
    private final WSSecurityEngine engine = new WSSecurityEngine();
    private final ReplayCache accepted;

    public Security(Keys keys) throws Refused {
        this.keys = keys;
        try {
            accepted = new MemoryReplayCache();
        } catch (RuntimeException error) {
            throw new Refused("the cache of messages cannot be made", error);
        }
    }

    /** Adds timestamp and signature to an envelope and encrypts its body. */
    public Document seal(Document envelope) throws Refused {
        return seal(envelope, Instant::now, LIFETIME_S, BODY, TIMESTAMP);
    }

    /** Seals by another clock, for another time, or signs only some of the parts. */
    Document seal(Document envelope, WSTimeSource clock, int lifetime, WSEncryptionPart... signed)
            throws Refused {
        try {
            WSSecHeader header = new WSSecHeader(envelope);
            header.insertSecurityHeader();
            WSSecTimestamp timestamp = new WSSecTimestamp(header);
            timestamp.setWsTimeSource(clock);
            timestamp.setTimeToLive(lifetime);
            timestamp.build();

            WSSecSignature signature = new WSSecSignature(header);
            signature.setUserInfo(Keys.OWN, Keys.PASSWORD);
            signature.setKeyIdentifierType(WSConstants.ISSUER_SERIAL);
            signature.setSignatureAlgorithm(SIGNATURE);
            signature.setDigestAlgo(DIGEST);
            signature.setSigCanonicalization(CANONICAL);
            signature.getParts().addAll(List.of(signed));
            signature.build(keys.own());

            WSSecEncrypt encryption = new WSSecEncrypt(header);
            encryption.setUserInfo(Keys.PEER);
            encryption.setKeyIdentifierType(WSConstants.ISSUER_SERIAL);
            encryption.setSymmetricEncAlgorithm(CIPHER);
            encryption.setKeyEncAlgo(KEY_TRANSPORT);
            encryption.getParts().add(new WSEncryptionPart("Body", Soap.ENVELOPE, "Content"));
            encryption.build(keys.peer(), KeyUtils.getKeyGenerator(CIPHER).generateKey());
            return envelope;
        } catch (WSSecurityException error) {
            throw new Refused("the message cannot be secured", error);
        }
    }

    /**
     * Verifies and decrypts an envelope, in place.
     *
     * @throws Refused if anything of the above does not hold
     */
    public void open(Document envelope) throws Refused {
        WSHandlerResult result;
        try {
            result = engine.processSecurityHeader(envelope, request());
        } catch (WSSecurityException error) {
            throw new Refused("its security does not hold", error);
        }
        if (result == null) {
            throw new Refused("it has no security header");
        }
        Element body = Soap.body(envelope);
        Element timestamp = timestamp(result);
        List<Element> signed = protectedBy(result, WSConstants.SIGN);
        if (!has(signed, body) || !has(signed, timestamp)) {
            throw new Refused("what it signs is not its body and timestamp");
        }
        if (!has(protectedBy(result, WSConstants.ENCR), body)) {
            throw new Refused("its body was not encrypted");
        }
    }

    private RequestData request() {
        RequestData data = new RequestData();
        data.setSigVerCrypto(keys.peer());
        data.setDecCrypto(keys.own());
        CallbackHandler password = callbacks -> ((WSPasswordCallback) callbacks[0]).setPassword(Keys.PASSWORD);
        data.setCallbackHandler(password);
        data.setTimestampReplayCache(accepted);
        data.setTimeStampStrict(true);
        data.setTimeStampTTL(LIFETIME_S);
        data.setTimeStampFutureTTL(SKEW_S);
        data.setRequireTimestampExpires(true);
        data.setRequireSignedEncryptedDataElements(false);
        data.setAlgorithmSuite(algorithms());
        return data;
    }

    private static AlgorithmSuite algorithms() {
        AlgorithmSuite suite = new AlgorithmSuite();
        suite.addSignatureMethod(SIGNATURE);
        suite.addDigestAlgorithm(DIGEST);
        suite.addC14nAlgorithm(CANONICAL);
        suite.addTransformAlgorithm(CANONICAL);
        suite.addEncryptionMethod(CIPHER);
        suite.addKeyWrapAlgorithm(KEY_TRANSPORT);
        suite.setMinimumAsymmetricKeyLength(2048);
        return suite;
    }

    /** The timestamp that was verified; it is a child of the security header. */
    private static Element timestamp(WSHandlerResult result) throws Refused {
        List<WSSecurityEngineResult> found = result.getActionResults().get(WSConstants.TS);
        if (found == null || found.size() != 1) {
            throw new Refused("it has no timestamp, or several");
        }
        Object of = found.get(0).get(WSSecurityEngineResult.TAG_TIMESTAMP);
        return ((org.apache.wss4j.dom.message.token.Timestamp) of).getElement();
    }

    /** The elements that a kind of protection covers, as they are in the document now. */
    private static List<Element> protectedBy(WSHandlerResult result, int action) {
        List<Element> elements = new ArrayList<>();
        List<WSSecurityEngineResult> found = result.getActionResults().getOrDefault(action, List.of());
        for (WSSecurityEngineResult one : found) {
            Object references = one.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
            if (references instanceof List<?> list) {
                for (Object reference : list) {
                    elements.add(((WSDataRef) reference).getProtectedElement());
                }
            }
        }
        return elements;
    }

    /** By identity: an equal element elsewhere in the document is not the one that is used. */
    private static boolean has(List<Element> elements, Element wanted) {
        return elements.stream().anyMatch(element -> element == wanted);
    }
}
