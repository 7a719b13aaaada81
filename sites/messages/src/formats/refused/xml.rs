//! XML messages that only the other party itself could send, or that a library would read
//! otherwise than they are meant.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bergshamra_dsig::DsigContext;
use bergshamra_dsig::verify::verify;
use bergshamra_keys::{Key, KeyData, KeyUsage, KeysManager};
use kryptering::{EcCurve, KeyAlgorithm};

use super::{Ends, NOW, again, request};
use crate::formats::xml::Xml;
use crate::{Format, Message, Refused};

const HMAC: &str = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
const ECDSA: &str = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256";
const SIGNATURE: &str = "<Signature xmlns=\"http://www.w3.org/2000/09/xmldsig#\">";

pub(super) fn ends() -> Ends {
    Ends::new(Format::Xml)
}

/// The client's own writer.
pub(super) fn writer(ends: &Ends) -> Xml {
    Xml::new(&again(&ends.forger)).unwrap()
}

pub(super) fn encrypted(ends: &Ends, signed: &[u8]) -> Vec<u8> {
    writer(ends).encrypt(signed).unwrap()
}

/// What the server says to a signed document, encrypted for it.
pub(super) fn open(ends: &Ends, signed: &str) -> Result<Message, Refused> {
    ends.forged(encrypted(ends, signed.as_bytes()))
}

/// A request that the client signed.
pub(super) fn document(ends: &Ends) -> String {
    writer(ends).sign(&request()).unwrap()
}

/// Whether the library alone, with the client's key, finds a signature right.
pub(super) fn library_verifies(ends: &Ends, signed: &str) -> bool {
    let p256 = KeyAlgorithm::Ec(EcCurve::P256);
    let key = KeyData::from_pkcs8_der(p256, &ends.forger.signing_pkcs8()).unwrap();
    let mut keys = KeysManager::new();
    keys.add_key(Key::new(key, KeyUsage::Verify));
    verify(&DsigContext::new(keys), signed).is_ok_and(|result| result.is_valid())
}

/// The document with the digest of its content, another SignedInfo, and the client's signature
/// of that: without the library, by the canonical form alone.
fn resigned(ends: &Ends, document: &str, change: impl Fn(String) -> String) -> String {
    let (content, info) = parts(document);
    let digest = STANDARD.encode(digest(&SHA256, format!("{content}</Message>").as_bytes()));
    let info = change(between(info, "<DigestValue>", "</DigestValue>", &digest));
    let signature = ends.forger.sign(canonical(&info).as_bytes()).unwrap();
    joined(content, &info, &signature)
}

/// What comes before the signature, and the SignedInfo.
fn parts(document: &str) -> (&str, &str) {
    let (content, rest) = document.rsplit_once(SIGNATURE).unwrap();
    (content, rest.split_once("<SignatureValue>").unwrap().0)
}

fn joined(content: &str, info: &str, signature: &[u8]) -> String {
    let signature = STANDARD.encode(signature);
    format!(
        "{content}{SIGNATURE}{info}<SignatureValue>{signature}</SignatureValue></Signature></Message>"
    )
}

/// SignedInfo with the namespace that its parent has declared.
fn canonical(info: &str) -> String {
    info.replacen("<SignedInfo>", "<SignedInfo xmlns=\"http://www.w3.org/2000/09/xmldsig#\">", 1)
}

/// The text with another value between these.
fn between(text: &str, from: &str, to: &str, value: &str) -> String {
    let (before, rest) = text.split_once(from).unwrap();
    let (_, after) = rest.split_once(to).unwrap();
    format!("{before}{from}{value}{to}{after}")
}

/// The text with something else once.
pub(super) fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} in {text}");
    text.replacen(from, to, 1)
}

#[test]
fn a_signature_by_the_canonical_form_alone_is_the_library_s() {
    let ends = ends();
    let good = resigned(&ends, &document(&ends), |info| info);
    assert!(open(&ends, &good).is_ok(), "right otherwise");
}

#[test]
fn signed_documents_choose_no_algorithm_reference_transform_or_key() {
    let ends = ends();
    let document = document(&ends);
    let exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#";
    let (sha256, sha1) =
        ("http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1");
    let more = "http://www.w3.org/2001/04/xmldsig-more";
    let enveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
    let xslt = "<Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\"></Transform>";
    let other = format!(
        "</Reference><Reference URI=\"#x\"><DigestMethod Algorithm=\"{sha256}\"></DigestMethod><DigestValue></DigestValue></Reference>"
    );
    for (from, to, expected) in [
        (exclusive, "http://www.w3.org/TR/2001/REC-xml-c14n-20010315", Refused::Algorithm),
        (exclusive, "http://www.w3.org/2001/10/xml-exc-c14n#WithComments", Refused::Algorithm),
        (ECDSA, HMAC, Refused::Algorithm),
        (ECDSA, &format!("{more}#ecdsa-sha1"), Refused::Algorithm),
        (ECDSA, &format!("{more}#ecdsa-sha384"), Refused::Algorithm),
        (ECDSA, &format!("{more}#rsa-sha256"), Refused::Algorithm),
        (ECDSA, "http://www.w3.org/2000/09/xmldsig#dsa-sha1", Refused::Algorithm),
        (ECDSA, "", Refused::Algorithm),
        (sha256, sha1, Refused::Algorithm),
        (sha256, &format!("{more}#md5"), Refused::Algorithm),
        ("URI=\"#m", "URI=\"\" x=\"#m", Refused::Coverage),
        ("URI=\"#m", "URI=\"#xpointer(/)\" x=\"", Refused::Coverage),
        ("URI=\"#m", "URI=\"http://127.0.0.1/#m", Refused::Coverage),
        ("URI=\"#m", "URI=\"file:///etc/passwd\" x=\"", Refused::Coverage),
        ("URI=\"#m", "URI=\"cid:m", Refused::Coverage),
        ("URI=\"#m", "Type=\"x\" URI=\"#m", Refused::Coverage),
        ("URI=\"#m", "URI=\"#m0", Refused::Coverage),
        (enveloped, "http://www.w3.org/TR/1999/REC-xpath-19991116", Refused::Coverage),
        (enveloped, "http://www.w3.org/2002/06/xmldsig-filter2", Refused::Coverage),
        (enveloped, "http://www.w3.org/2000/09/xmldsig#base64", Refused::Coverage),
        ("</Transforms>", &format!("{xslt}</Transforms>"), Refused::Coverage),
        ("<Transforms>", &format!("<Transforms>{xslt}"), Refused::Coverage),
        ("</Reference>", &other, Refused::Coverage),
        (
            "</CanonicalizationMethod>",
            "<InclusiveNamespaces xmlns=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"x\"></InclusiveNamespaces></CanonicalizationMethod>",
            Refused::Malformed,
        ),
        (
            "</SignatureMethod>",
            "<HMACOutputLength>0</HMACOutputLength></SignatureMethod>",
            Refused::Malformed,
        ),
        ("<SignedInfo>", "<SignedInfo Id=\"x\">", Refused::Signature),
    ] {
        let signed = resigned(&ends, &document, |info| replaced(&info, from, to));
        assert_eq!(open(&ends, &signed), Err(expected), "{from} {to}");
    }
    let no_reference = resigned(&ends, &document, |info| {
        let (before, rest) = info.split_once("<Reference ").unwrap();
        before.to_owned() + rest.split_once("</Reference>").unwrap().1
    });
    assert_eq!(open(&ends, &no_reference), Err(Refused::Coverage));
    for more in [
        "<KeyInfo><KeyName>client</KeyName></KeyInfo>",
        "<KeyInfo><KeyValue></KeyValue></KeyInfo>",
        "<KeyInfo><RetrievalMethod URI=\"http://127.0.0.1/\"></RetrievalMethod></KeyInfo>",
        "<Object></Object>",
    ] {
        let text = replaced(&document, "</Signature>", &format!("{more}</Signature>"));
        assert_eq!(open(&ends, &text), Err(Refused::Malformed), "{more}");
    }
}

#[test]
fn a_document_without_a_signature_of_the_other_party_is_refused() {
    let ends = ends();
    let (document, stranger) = (document(&ends), self::ends());
    let (content, info) = parts(&document);
    let value = |value: &str| between(&document, "<SignatureValue>", "</SignatureValue>", value);
    for (text, expected) in [
        (format!("{content}</Message>"), Refused::Signature),
        (format!("{content}{SIGNATURE}</Signature></Message>"), Refused::Signature),
        (replaced(&document, info, ""), Refused::Signature),
        (value(""), Refused::Signature),
        (value(&STANDARD.encode([0; 64])), Refused::Signature),
        (value(&STANDARD.encode([1; 63])), Refused::Signature),
        (resigned(&stranger, &document, |info| info), Refused::Signature),
    ] {
        assert_eq!(open(&ends, &text), Err(expected), "{text}");
    }
}

#[test]
fn a_public_key_is_no_secret_of_an_hmac() {
    let ends = ends();
    let document = document(&ends);
    let (content, info) = parts(&document);
    let info = replaced(info, ECDSA, HMAC);
    let secret = hmac::Key::new(hmac::HMAC_SHA256, &ends.forger.peer_verifying());
    let tag = hmac::sign(&secret, canonical(&info).as_bytes());
    let text = joined(content, &info, tag.as_ref());
    assert_eq!(open(&ends, &text), Err(Refused::Algorithm));
}

#[test]
fn content_with_repeated_unknown_missing_or_moved_elements_is_refused() {
    let ends = ends();
    let document = document(&ends);
    let sender = "<Sender>client</Sender>";
    for (from, to) in [
        (sender, "<Sender>client</Sender><Sender>client</Sender>"),
        (sender, "<Sender>client</Sender><Other>1</Other>"),
        (sender, ""),
        (sender, "<Sender>nobody</Sender>"),
        (sender, "<Sender>client<Sender>client</Sender></Sender>"),
        (sender, "<Sender a=\"b\">client</Sender>"),
        (sender, "<sender>client</sender>"),
        ("urn:tidegate:messages", "urn:other"),
        (&format!("<IssuedMs>{NOW}"), &format!("<IssuedMs>0{NOW}")),
        (&format!("<IssuedMs>{NOW}"), &format!("<IssuedMs>+{NOW}")),
        (&format!("<IssuedMs>{NOW}"), "<IssuedMs>99999999999999999999"),
        ("<Counter>0", "<Counter>-0"),
        ("<Operation>echo", "<Operation>delete"),
        ("<InReplyTo>", "<InReplyTo>x"),
        ("five!", "\u{e9}"),
        ("five!", "\n"),
        ("five!", "]]>"),
        ("Id=\"m", "Id=\"M"),
    ] {
        let changed = replaced(&document, from, to);
        let signed = resigned(&ends, &changed, |info| info);
        assert_eq!(open(&ends, &signed), Err(Refused::Malformed), "{from} {to}");
    }
    let (first, second) = ("<Sender>client</Sender>", "<Recipient>server</Recipient>");
    let moved = replaced(&document, &format!("{first}{second}"), &format!("{second}{first}"));
    assert_eq!(open(&ends, &resigned(&ends, &moved, |info| info)), Err(Refused::Malformed));
}

#[test]
fn another_way_to_write_what_was_signed_is_refused() {
    let ends = ends();
    let document = document(&ends);
    let (begin, _) = document.split_once('>').unwrap();
    let quoted = begin.replace('"', "'");
    // The canonical form of each is the same, so the signature stays right.
    for (from, to) in [
        ("client", "client<!-- x -->"),
        ("client", "<!-- x -->client"),
        ("client", "cli<!-- x -->ent"),
        ("client", "<![CDATA[client]]>"),
        ("client", "&#99;lient"),
        ("client", "&#x63;lient"),
        ("five!", "five&#33;"),
        ("<Sender>", "<Sender >"),
        ("</Sender>", "</Sender\n>"),
        ("<InReplyTo></InReplyTo>", "<InReplyTo/>"),
        (begin, &quoted),
        ("<Message ", "<Message  "),
        ("<Message xmlns=", "<Message xmlns:unused=\"urn:x\" xmlns="),
        ("<Message ", "<?xml version=\"1.0\"?>\n<Message "),
        ("<Message ", "\u{feff}<Message "),
        ("<Message ", "<!DOCTYPE Message><Message "),
        ("<Message ", "<!DOCTYPE Message [<!ENTITY x \"y\">]><Message "),
        ("<Message ", "<!-- x --><Message "),
        ("</Signature></Message>", "</Signature></Message>\n"),
        ("</Signature></Message>", "</Signature></Message><?x y?>"),
    ] {
        let text = replaced(&document, from, to);
        assert!(library_verifies(&ends, &text), "the signature is right: {to}");
        assert_eq!(open(&ends, &text), Err(Refused::Malformed), "{to}");
    }
    for (from, to) in
        [("<SignatureValue>", "<SignatureValue>\n"), ("</SignatureValue>", " </SignatureValue>")]
    {
        let text = replaced(&document, from, to);
        assert!(library_verifies(&ends, &text), "the signature is right: {to}");
        assert_eq!(open(&ends, &text), Err(Refused::Signature), "{to}");
    }
}

#[test]
fn other_content_than_the_signed_one_is_refused() {
    let ends = ends();
    let document = document(&ends);
    for (from, to) in [("five!", "six!!"), ("echo", "count"), (">0<", ">1<")] {
        let text = replaced(&document, from, to);
        assert_eq!(open(&ends, &text), Err(Refused::Digest), "{to}");
    }
    // With a digest of its own, the signature is that of another.
    let (content, _) = parts(&document);
    let content = replaced(content, "five!", "six!!");
    let own = STANDARD.encode(digest(&SHA256, format!("{content}</Message>").as_bytes()));
    let text = between(&document, "<DigestValue>", "</DigestValue>", &own);
    let text = replaced(&text, "five!", "six!!");
    assert_eq!(open(&ends, &text), Err(Refused::Signature));
}

#[test]
fn a_signed_document_that_was_altered_anywhere_is_refused() {
    let ends = ends();
    let (writer, document) = (writer(&ends), document(&ends));
    for at in 0..document.len() {
        for flip in [1, 0x20, 0x80] {
            let mut altered = document.clone().into_bytes();
            altered[at] ^= flip;
            let refused = ends.forged(writer.encrypt(&altered).unwrap());
            assert!(refused.is_err(), "byte {at}: {}", String::from_utf8_lossy(&altered));
        }
    }
    assert!(open(&ends, &document).is_ok(), "what is refused is not remembered");
}

#[test]
fn encrypted_documents_choose_no_algorithm_key_or_place() {
    let ends = ends();
    let good = String::from_utf8(encrypted(&ends, document(&ends).as_bytes())).unwrap();
    let (xenc, xenc11) = ("http://www.w3.org/2001/04/xmlenc#", "http://www.w3.org/2009/xmlenc11#");
    let key = "<ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">";
    for (from, to, expected) in [
        (format!("{xenc11}aes256-gcm"), format!("{xenc11}aes128-gcm"), Refused::Algorithm),
        (format!("{xenc11}aes256-gcm"), format!("{xenc}aes256-cbc"), Refused::Algorithm),
        (format!("{xenc11}aes256-gcm"), format!("{xenc}tripledes-cbc"), Refused::Algorithm),
        (format!("{xenc}kw-aes256"), format!("{xenc}kw-aes128"), Refused::Algorithm),
        (format!("{xenc}kw-aes256"), format!("{xenc}rsa-1_5"), Refused::Algorithm),
        (format!("{xenc}kw-aes256"), format!("{xenc}rsa-oaep-mgf1p"), Refused::Algorithm),
        (format!("{xenc11}ECDH-ES"), format!("{xenc}dh"), Refused::Algorithm),
        (format!("{xenc11}ConcatKDF"), format!("{xenc11}pbkdf2"), Refused::Algorithm),
        (
            format!("{xenc}sha256"),
            "http://www.w3.org/2000/09/xmldsig#sha1".into(),
            Refused::Algorithm,
        ),
        ("1.2.840.10045.3.1.7".into(), "1.3.132.0.34".into(), Refused::Algorithm),
        ("<ds:KeyName>server".into(), "<ds:KeyName>client".into(), Refused::Recipient),
        ("00736572766572".into(), "00636c69656e74".into(), Refused::Recipient),
        ("00636c69656e74".into(), "00736572766572".into(), Refused::Sender),
        ("00636c69656e74".into(), String::new(), Refused::Sender),
        (" MimeType".into(), format!(" Type=\"{xenc}Element\" MimeType"), Refused::Malformed),
        (" MimeType".into(), " Encoding=\"gzip\" MimeType".into(), Refused::Malformed),
        ("application/octet-stream".into(), "text/xml".into(), Refused::Malformed),
        (key.into(), format!("{key}<ds:KeyName>server</ds:KeyName>"), Refused::Malformed),
        (key.into(), format!("{key}<ds:RetrievalMethod URI=\"#x\"/>"), Refused::Malformed),
        (
            "<xenc:CipherValue>".into(),
            "<xenc:CipherReference URI=\"#x\"/><xenc:CipherValue>".into(),
            Refused::Malformed,
        ),
        ("<xenc:CipherValue>".into(), "<xenc:CipherValue>\n".into(), Refused::Malformed),
        (
            "</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>".into(),
            " </xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>".into(),
            Refused::Malformed,
        ),
        (
            "</xenc:EncryptedKey>".into(),
            "</xenc:EncryptedKey><xenc:EncryptedKey/>".into(),
            Refused::Malformed,
        ),
        (
            "</xenc:EncryptedData>".into(),
            "<xenc:EncryptionProperties/></xenc:EncryptedData>".into(),
            Refused::Malformed,
        ),
        (
            "<xenc:EncryptedData ".into(),
            "<?xml version=\"1.0\"?><xenc:EncryptedData ".into(),
            Refused::Malformed,
        ),
        (
            "<xenc:EncryptedData ".into(),
            "<!DOCTYPE x><xenc:EncryptedData ".into(),
            Refused::Malformed,
        ),
    ] {
        assert_eq!(ends.forged(replaced(&good, &from, &to)), Err(expected), "{from} {to}");
    }
    assert!(ends.forged(good).is_ok(), "right otherwise");
}

#[test]
fn a_key_that_is_no_point_of_the_curve_is_refused() {
    let ends = ends();
    let good = String::from_utf8(encrypted(&ends, document(&ends).as_bytes())).unwrap();
    let with = |point: &[u8]| {
        let point = STANDARD.encode(point);
        ends.forged(between(&good, "<PublicKey>", "</PublicKey>", &point))
    };
    for coordinate in [0, 1, 255] {
        let point = [[4].as_slice(), &[coordinate; 64]].concat();
        assert_eq!(with(&point), Err(Refused::Decryption), "{coordinate}");
    }
    assert_eq!(with(&[0]), Err(Refused::Malformed), "the point at infinity");
    assert_eq!(with(&[2; 33]), Err(Refused::Malformed), "compressed");
}

#[test]
fn a_ciphertext_or_wrapped_key_of_another_length_is_refused() {
    let ends = ends();
    let good = String::from_utf8(encrypted(&ends, document(&ends).as_bytes())).unwrap();
    let (key, data) = good.split_once("</xenc:EncryptedKey>").unwrap();
    let (from, to) = ("<xenc:CipherValue>", "</xenc:CipherValue>");
    for length in [0, 24, 32, 48] {
        let key = between(key, from, to, &STANDARD.encode(vec![0; length]));
        let text = format!("{key}</xenc:EncryptedKey>{data}");
        assert_eq!(ends.forged(text), Err(Refused::Malformed), "{length}");
    }
    for length in [0, 11, 12, 27, 28, 1000] {
        let data = between(data, from, to, &STANDARD.encode(vec![0; length]));
        let text = format!("{key}</xenc:EncryptedKey>{data}");
        assert_eq!(ends.forged(text), Err(Refused::Decryption), "{length}");
    }
}

#[test]
fn bombs_are_refused_before_they_are_parsed() {
    let ends = ends();
    let laughs = |end: &str| {
        let mut dtd = "<!DOCTYPE Message [<!ENTITY a0 \"ha\">".to_owned();
        for level in 1..30 {
            let before = format!("&a{};", level - 1).repeat(10);
            dtd += &format!("<!ENTITY a{level} \"{before}\">");
        }
        format!("{dtd}]>{end}")
    };
    let document = document(&ends);
    let bombs = [
        laughs("<Message>&a29;</Message>"),
        laughs(&replaced(&document, "five!", "&a29;")),
        replaced(&document, "five!", "&a29;"),
        "<!DOCTYPE x SYSTEM \"http://127.0.0.1/x.dtd\"><x/>".to_owned(),
        "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><x>&e;</x>".to_owned(),
        "<a>".repeat(1_000_000),
        format!("<Message {}>", "a=\"\" ".repeat(500_000)),
        replaced(&document, "<Sender>", &"<Sender>".repeat(100_000)),
        "<".repeat(1_000_000),
    ];
    for bomb in bombs {
        let begin = &bomb[..40.min(bomb.len())];
        assert_eq!(ends.forged(bomb.clone()), Err(Refused::Malformed), "in the clear: {begin}");
        assert_eq!(open(&ends, &bomb), Err(Refused::Malformed), "encrypted: {begin}");
    }
    // A gzip header, and nothing that the receiver would decompress.
    assert_eq!(ends.forged(b"\x1f\x8b\x08\x00".to_vec()), Err(Refused::Malformed));
    let zeros = vec![0; 1 << 20];
    assert_eq!(ends.forged(encrypted(&ends, &zeros)), Err(Refused::Malformed));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let ends = ends();
    for bad in [b"\xff\xfe<\x00".as_slice(), b"\xc0\xbc", b"", b"{}", b"\0"] {
        assert_eq!(ends.forged(bad.to_vec()), Err(Refused::Malformed));
        assert_eq!(ends.forged(encrypted(&ends, bad)), Err(Refused::Malformed));
    }
}
