//! Reads `[tls]`.

use super::files::beside;
use super::{Refuse, every};
use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{Choice, Number, Other, Section, Text, Value, keys};

use crate::client::tls::algorithms::{KeyExchangeGroup, Offer, Suite, UnknownName};
use crate::client::tls::certificate::ClientCertificate;
use crate::client::tls::rules::{TicketsOf, TlsRules, TlsVersions};

keys! {
    /// TLS with an `https` target.
    pub(super) static TLS: TlsKeys {
        /// Versions of TLS that customers offer.
        versions: Choice<TlsVersions>(TlsVersions::ALL) = Is("both");
        /// Cipher suites that customers offer, the preferred one first.
        suites: Other("list of texts", "names of IANA or OpenSSL, at least one") = Else("all, AES-128 first");
        /// Key exchange groups that customers offer, the preferred one first.
        groups: Other("list of texts", "names of IANA or OpenSSL, at least one")
            = Else("x25519, secp256r1, secp384r1, X25519MLKEM768");
        /// Client certificate, sent to a server that requests one.
        certificate: Text("path of a PEM file, from the scenario's folder") = Unset;
        /// Its private key, not encrypted, if it is not in the same file.
        key: Text("path of a PEM file, from the scenario's folder") = Unset;
        /// Share of connections with a full handshake; all others are resumed.
        full_share: Number(0.0, 1.0) = Else("connections with a ticket are resumed");
        /// Tickets for resumption: the customer's own, those of all customers, or one ticket of
        /// TLS 1.3 for all.
        tickets: Choice<TicketsOf>(TicketsOf::ALL) = Else("`\"all\"` with `full_share`, otherwise `\"customer\"`");
    }
}

/// `file` is the scenario's, from which files named in it are found.
pub(super) fn read(section: &Section<'_>, file: &str) -> TlsRules {
    section.known(&TLS);
    let suites = section.given(&TLS.suites).and_then(|value| names(&value, Suite::parse));
    let groups =
        section.given(&TLS.groups).and_then(|value| names(&value, KeyExchangeGroup::parse));
    let rules = TlsRules {
        versions: section.field(&TLS.versions),
        suites: suites.unwrap_or_default(),
        groups: groups.unwrap_or_default(),
        certificate: certificate(section, file),
        full_share: section.field(&TLS.full_share),
        tickets: section.field(&TLS.tickets),
    };
    if let Err(wrong) = Offer::new(rules.versions, &rules.suites, &rules.groups)
        && let Some(value) = section.get(wrong.key)
    {
        value.wrong(wrong.rule, wrong.remedy);
    }
    rules
}

/// The certificate that customers show, and its key.
fn certificate(section: &Section<'_>, file: &str) -> Option<ClientCertificate> {
    let key = section.get(TLS.key.name);
    let Some(certificate) = section.get(TLS.certificate.name) else {
        if let Some(key) = key {
            key.wrong("has no certificate", "name one: certificate = \"client.pem\"");
        }
        return None;
    };
    let path = beside(file, certificate.string()?);
    let key_path = match &key {
        Some(key) => Some(beside(file, key.string()?)),
        None => None,
    };
    match ClientCertificate::load(&path, key_path.as_deref()) {
        Ok(read) => Some(read),
        Err(wrong) => {
            let value = key.filter(|_| wrong.of_key).unwrap_or(certificate);
            value.refuse(
                format!("{}: {}", wrong.file.display(), wrong.rule),
                format!("{}; paths are relative to the scenario's file", wrong.remedy),
            )
        }
    }
}

/// A list of names, none of them unknown.
fn names<T>(value: &Value<'_>, parse: fn(&str) -> Result<T, UnknownName>) -> Option<Vec<T>> {
    let list = value.list()?;
    if list.is_empty() {
        value.wrong("lists nothing", "list at least one, or leave it out");
    }
    let name = |value: &Value<'_>| match parse(value.string()?) {
        Ok(known) => Some(known),
        Err(unknown) => value.refuse(unknown.rule, unknown.remedy),
    };
    every(&list, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<TlsRules, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| {
            Some(read(&root.get("tls")?.section()?, "shop.toml"))
        })
        .map_err(|mistakes| mistakes.lines())
    }

    #[test]
    fn tls_is_read_and_every_mistake_is_reported() {
        let good = "[tls]\nversions = \"1.3\"\nfull_share = 0.3\ntickets = \"one\"\n\
                    suites = [\"TLS13_AES_256_GCM_SHA384\"]\ngroups = [\"X25519\", \"P-256\"]";
        let rules = read_text(good).unwrap();
        assert_eq!((rules.versions, rules.full_share), (TlsVersions::Only13, Some(0.3)));
        assert_eq!(rules.tickets, Some(TicketsOf::One));
        assert_eq!(rules.suites, [Suite::parse("TLS_AES_256_GCM_SHA384").unwrap()]);
        let groups = rules.groups.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(groups, ["x25519", "secp256r1"]);
        let bad = "[tls]\nversions = \"1.1\"\nfull_share = 30\nticket = \"all\"\n\
                   suites = [\"TLS_AES_128_GCM_SHA265\", 1]\ngroups = []";
        assert_eq!(
            read_text(bad).unwrap_err(),
            [
                "shop.toml:2: tls.versions = \"1.1\": must be one of both, 1.2, 1.3; did you mean \"1.2\"?",
                "shop.toml:3: tls.full_share = 30: must be a number of 0 to 1; try 1",
                "shop.toml:4: tls.ticket = \"all\": is not a known key; did you mean tickets?",
                "shop.toml:5: tls.suites[0] = \"TLS_AES_128_GCM_SHA265\": \"TLS_AES_128_GCM_SHA265\" is no cipher suite that \
                 can be offered; did you mean TLS_AES_128_GCM_SHA256?",
                "shop.toml:5: tls.suites[1] = 1: must be text in quotes; write it as \"1\"",
                "shop.toml:6: tls.groups = []: lists nothing; list at least one, or leave it out",
            ]
        );
        let files = "[tls]\ncertificate = \"none.pem\"\nkey = 1";
        assert_eq!(
            read_text(files).unwrap_err(),
            ["shop.toml:3: tls.key = 1: must be text in quotes; write it as \"1\""]
        );
        let files = "[tls]\ncertificate = \"none.pem\"";
        assert_eq!(
            read_text(files).unwrap_err(),
            [
                "shop.toml:2: tls.certificate = \"none.pem\": none.pem: No such file or directory (os error 2); \
              name a file that can be read; paths are relative to the scenario's file"
            ]
        );
        assert_eq!(
            read_text("[tls]\nkey = \"a.key\"").unwrap_err(),
            [
                "shop.toml:2: tls.key = \"a.key\": has no certificate; name one: certificate = \"client.pem\""
            ]
        );
        let contradiction = "[tls]\nversions = \"1.3\"\nsuites = [\"ECDHE-RSA-AES128-GCM-SHA256\"]";
        assert_eq!(
            read_text(contradiction).unwrap_err(),
            [
                "shop.toml:3: tls.suites = [\"ECDHE-RSA-AES128-GCM-SHA256\"]: none is of TLS 1.3, and no other version is offered; \
              list a suite of that version, or offer another"
            ]
        );
    }
}
