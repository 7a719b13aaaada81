package tidegate.messages;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** SOAP 1.2 envelopes with one text in their body. */
public final class Soap {
    static final String ENVELOPE = "http://www.w3.org/2003/05/soap-envelope";
    private static final String OURS = "urn:tidegate:messages";
    private static final DocumentBuilderFactory PARSERS = parsers();
    private static final TransformerFactory WRITERS = TransformerFactory.newInstance();
    private static final ThreadLocal<DocumentBuilder> PARSER = ThreadLocal.withInitial(Soap::parser);

    private Soap() {}

    /** An envelope whose body has one element of this name with this text. */
    public static Document envelope(String name, String text) {
        Document document = PARSER.get().newDocument();
        Element envelope = document.createElementNS(ENVELOPE, "env:Envelope");
        // Declared as attributes too: what is encrypted is written without its writer's context.
        envelope.setAttributeNS(XMLConstants.XMLNS_ATTRIBUTE_NS_URI, "xmlns:env", ENVELOPE);
        document.appendChild(envelope);
        envelope.appendChild(document.createElementNS(ENVELOPE, "env:Header"));
        Element body = document.createElementNS(ENVELOPE, "env:Body");
        envelope.appendChild(body);
        Element message = document.createElementNS(OURS, "m:" + name);
        message.setAttributeNS(XMLConstants.XMLNS_ATTRIBUTE_NS_URI, "xmlns:m", OURS);
        message.appendChild(document.createTextNode(text));
        body.appendChild(message);
        return document;
    }

    /**
     * Reads an envelope. Documents with a DTD are refused, so that no entity expands.
     *
     * @throws Refused if it is no XML or no envelope
     */
    public static Document parse(byte[] bytes) throws Refused {
        Document document;
        try {
            document = PARSER.get().parse(new ByteArrayInputStream(bytes));
        } catch (org.xml.sax.SAXException | java.io.IOException error) {
            throw new Refused("it is no well-formed XML without a DTD", error);
        }
        body(document);
        return document;
    }

    /**
     * The body: the one that is a child of the envelope, and the only one.
     *
     * @throws Refused if there is none, or several
     */
    static Element body(Document document) throws Refused {
        Element envelope = document.getDocumentElement();
        if (!is(envelope, ENVELOPE, "Envelope")) {
            throw new Refused("it is no SOAP 1.2 envelope");
        }
        return only(envelope, ENVELOPE, "Body");
    }

    /**
     * The text of the message in the body.
     *
     * @throws Refused if the body has no element of this name, or more
     */
    public static String text(Document document, String name) throws Refused {
        return only(body(document), OURS, name).getTextContent();
    }

    static boolean is(Node node, String space, String name) {
        return node instanceof Element && space.equals(node.getNamespaceURI())
                && name.equals(node.getLocalName());
    }

    private static Element only(Element parent, String space, String name) throws Refused {
        Element found = null;
        for (Node child = parent.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (is(child, space, name)) {
                if (found != null) {
                    throw new Refused("it has several elements " + name);
                }
                found = (Element) child;
            }
        }
        if (found == null) {
            throw new Refused("it has no element " + name);
        }
        return found;
    }

    public static byte[] bytes(Document document) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            Transformer writer = WRITERS.newTransformer();
            writer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
            writer.transform(new DOMSource(document), new StreamResult(bytes));
        } catch (TransformerException error) {
            throw new IllegalStateException("a document can be written to memory", error);
        }
        return bytes.toByteArray();
    }

    private static DocumentBuilderFactory parsers() {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newDefaultInstance();
        factory.setNamespaceAware(true);
        factory.setXIncludeAware(false);
        factory.setExpandEntityReferences(false);
        try {
            factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
            factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        } catch (ParserConfigurationException error) {
            throw new IllegalStateException("the parser of the JDK knows these", error);
        }
        return factory;
    }

    private static DocumentBuilder parser() {
        try {
            DocumentBuilder parser = PARSERS.newDocumentBuilder();
            // By default errors are printed as well.
            parser.setErrorHandler(null);
            return parser;
        } catch (ParserConfigurationException error) {
            throw new IllegalStateException("the features were accepted before", error);
        }
    }
}
