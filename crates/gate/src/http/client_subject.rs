//! The subject of a client's verified certificate, as the upstream receives it.

use http::header::{HeaderMap, HeaderName, HeaderValue, TRAILER};
use x509_parser::der_parser::asn1_rs::ToDer;
use x509_parser::prelude::{AttributeTypeAndValue, FromDer, X509Certificate, X509Name};

/// The header field for the subject, and its value on one connection.
#[derive(Clone, Debug)]
pub struct ClientSubject {
    name: HeaderName,
    /// None where the client showed no certificate.
    value: Option<HeaderValue>,
}

impl ClientSubject {
    /// The field of this name for a connection, on which the client showed this certificate.
    pub fn new(name: &HeaderName, certificate: Option<&[u8]>) -> Self {
        let parsed = certificate.and_then(|der| X509Certificate::from_der(der).ok());
        let subject = parsed.map(|(_, certificate)| distinguished_name(certificate.subject()));
        let value = subject.and_then(|subject| HeaderValue::from_str(&subject).ok());
        Self { name: name.clone(), value }
    }

    /// Sets the field of a request, in place of whatever the customer sent in it. Spellings
    /// with underscores go too: CGI and WSGI make both the same variable. No trailer may
    /// bring it in either.
    pub fn set(&self, headers: &mut HeaderMap) {
        let claims = |name: &&HeaderName| {
            **name == self.name
                || (name.as_str().contains('_')
                    && name.as_str().replace('_', "-") == self.name.as_str())
        };
        let claims: Vec<_> = headers.keys().filter(claims).cloned().collect();
        for name in claims {
            headers.remove(name);
        }
        // The HTTP library sends only trailers that this field announces.
        headers.remove(TRAILER);
        if let Some(value) = &self.value {
            headers.insert(self.name.clone(), value.clone());
        }
    }
}

/// A name as text of printable ASCII, the most specific part first.
///
/// Source: RFC 4514, section 2. Deviation: `emailAddress` by its name, as OpenSSL shows it.
fn distinguished_name(name: &X509Name<'_>) -> String {
    let parts: Vec<_> = name.iter_rdn().collect();
    let parts = parts.into_iter().rev().map(|part| {
        let attributes: Vec<_> = part.iter().map(attribute).collect();
        attributes.join("+")
    });
    parts.collect::<Vec<_>>().join(",")
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> String {
    let oid = attribute.attr_type().to_id_string();
    let known = KNOWN.iter().find(|(known, _)| *known == oid);
    match (known, attribute.as_str()) {
        (Some((_, name)), Ok(text)) => format!("{name}={}", escaped(text)),
        _ => {
            let der = attribute.attr_value().to_der_vec().unwrap_or_default();
            let digits: String = der.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{oid}=#{digits}")
        }
    }
}

const KNOWN: [(&str, &str); 10] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A value in which nothing can be taken for the end of it.
fn escaped(text: &str) -> String {
    let last = text.len().saturating_sub(1);
    let mut escaped = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\' | b'=' => {
                escaped.push('\\');
                escaped.push(byte.into());
            }
            b' ' if at == 0 || at == last => escaped.push_str("\\ "),
            b'#' if at == 0 => escaped.push_str("\\#"),
            b' '..=b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("\\{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    fn certificate(parts: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::new(["a.test".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, text) in parts {
            let value = DnValue::Utf8String((*text).to_owned());
            params.distinguished_name.push(kind.clone(), value);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn subject(parts: &[(DnType, &str)]) -> String {
        let name = HeaderName::from_static("x-subject");
        let subject = ClientSubject::new(&name, Some(&certificate(parts)));
        let mut headers = HeaderMap::new();
        subject.set(&mut headers);
        headers["x-subject"].to_str().unwrap().to_owned()
    }

    #[test]
    fn the_most_specific_part_is_first() {
        let parts = [
            (DnType::CountryName, "DE"),
            (DnType::OrganizationName, "Shop"),
            (DnType::CommonName, "alice"),
        ];
        assert_eq!(subject(&parts), "CN=alice,O=Shop,C=DE");
    }

    #[test]
    fn no_value_can_pass_for_another_part() {
        assert_eq!(subject(&[(DnType::CommonName, "a,O=Admin+OU=x")]), "CN=a\\,O\\=Admin\\+OU\\=x");
        assert_eq!(subject(&[(DnType::CommonName, " #a\\ ")]), "CN=\\ #a\\\\\\ ");
        assert_eq!(subject(&[(DnType::CommonName, "#1")]), "CN=\\#1");
        assert_eq!(subject(&[(DnType::CommonName, "a\r\nHost: b")]), "CN=a\\0D\\0AHost: b");
        assert_eq!(subject(&[(DnType::CommonName, "Zoë")]), "CN=Zo\\C3\\AB");
    }

    #[test]
    fn an_unknown_attribute_is_shown_by_its_bytes() {
        let parts = [(DnType::CustomDnType(vec![2, 5, 4, 12]), "x")];
        assert_eq!(subject(&parts), "2.5.4.12=#0c0178");
    }

    #[test]
    fn what_a_customer_sends_in_the_field_is_removed_in_every_spelling() {
        let name = HeaderName::from_static("x-client-subject");
        let mut headers = HeaderMap::new();
        for spelling in ["x-client-subject", "x_client_subject", "x-client_subject"] {
            headers.append(HeaderName::from_static(spelling), HeaderValue::from_static("CN=eve"));
        }
        headers.append("trailer", HeaderValue::from_static("x-client-subject"));
        headers.append("x_basket", HeaderValue::from_static("7"));
        ClientSubject::new(&name, None).set(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["x_basket"]);
    }
}
