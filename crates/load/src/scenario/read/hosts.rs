//! Reads `[hosts]`.

use super::Refuse;
use super::files::beside;
use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{Boolean, Choice, Section, Text, Value, keys};

use crate::client::connections::Http;
use crate::client::target::Target;
use crate::client::tls::config::trusted_roots;
use crate::scenario::host::{Host, MOST};

keys! {
    /// A host beside the target, by its name: that of a single sign-on, or of an API. Customers
    /// request no other hosts.
    pub(super) static HOST: HostKeys {
        /// Its address, without a path.
        url: Text("`https://host[:port]` or `http://host[:port]`") = Required("https://login.example");
        /// Whether any certificate of it is accepted.
        insecure: Boolean = Is("false");
        /// Certificate authorities to trust instead of the system's.
        ca: Text("path of a PEM file, from the scenario's folder") = Unset;
        /// Name for SNI and the verification of its certificate.
        server_name: Text("a host's name") = Else("that of `url`");
        /// Version of HTTP.
        http: Choice<Http>(Http::ALL) = Else("that of the target");
    }
}

/// `file` is the scenario's, from which files named in it are found.
pub(super) fn read(value: &Value<'_>, file: &str) -> Vec<Host> {
    let Some(section) = value.section() else { return Vec::new() };
    let entries = section.entries();
    section.at_most(MOST, entries.len(), "hosts", "remove some");
    let mut hosts: Vec<Host> = Vec::new();
    for (name, value) in entries.into_iter().take(MOST) {
        let Some(section) = value.section() else { continue };
        let Some(host) = host(name, &section, file) else { continue };
        let same = |other: &&Host| other.target.origin == host.target.origin;
        if let Some(other) = hosts.iter().find(same) {
            section.wrong(format!("has the address of {}", other.name), "remove one of them");
        }
        hosts.push(host);
    }
    hosts
}

fn host(name: &str, section: &Section<'_>, file: &str) -> Option<Host> {
    section.known(&HOST);
    let ca = section.get(HOST.ca.name).and_then(|value| {
        let path = beside(file, value.string()?);
        if let Err(error) = trusted_roots(Some(&path)) {
            value.wrong(error.to_string(), "name a PEM file; paths are relative to the scenario's");
        }
        Some(path)
    });
    let server_name = section.get(HOST.server_name.name).and_then(|value| {
        let name = value.string()?;
        if rustls::pki_types::ServerName::try_from(name).is_err() {
            value.wrong("is no name of a host", "write \"login.example\"");
        }
        Some(name.to_owned())
    });
    let (insecure, http) = (section.field(&HOST.insecure), section.field(&HOST.http));
    let url = section.read(&HOST.url)?;
    match Target::parse(url) {
        Ok(target) => Some(Host { name: name.to_owned(), target, insecure, ca, server_name, http }),
        Err(error) => {
            let rule = error.to_string();
            let rule = rule.strip_prefix(&format!("target {url}: ")).unwrap_or(&rule);
            let rule = rule.split("; write").next().unwrap_or_default().to_owned();
            section.get(HOST.url.name)?.wrong(rule, "write it as https://host[:port]");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use crate::scenario::Scenario;

    #[test]
    fn hosts_are_read_and_pages_name_them() {
        let text = "[session]\nsteps = [\"Login\", \"Home\"]\n[hosts.sso]\n\
                    url = \"https://login.example:8443\"\ninsecure = true\nhttp = \"2\"\n\
                    [pages]\nLogin = { host = \"sso\", path = \"/\" }\nHome = { path = \"/\" }\n";
        let shop = Scenario::from_toml(text, "shop.toml").unwrap();
        let [sso] = shop.hosts() else { panic!("one host") };
        assert_eq!((sso.name.as_str(), sso.url()), ("sso", "https://login.example:8443"));
        assert_eq!(shop.pages().iter().map(|page| page.host).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn every_mistake_about_hosts_is_reported() {
        let text = "[session]\nsteps = [\"A\"]\n[pages]\nA = { host = \"soo\", path = \"/\" }\n\
                    [hosts]\nsso = { url = \"https://login.example/path\" }\n\
                    api = { url = \"https://api.example\", ca = \"none.pem\", server_name = \"a b\" }\n\
                    two = { url = \"https://api.example:443\", insecrue = true }\nno = {}\n";
        let found = mistakes(text);
        for expected in [
            "shop.toml:4: pages.A.host = \"soo\": is not a host; hosts are sso, api, two, no",
            "shop.toml:6: hosts.sso.url = \"https://login.example/path\": has the path /path",
            "shop.toml:7: hosts.api.ca = \"none.pem\": none.pem: No such file",
            "shop.toml:7: hosts.api.server_name = \"a b\": is no name of a host;",
            "shop.toml:8: hosts.two: has the address of api; remove one of them",
            "shop.toml:8: hosts.two.insecrue = true: is not a known key; did you mean insecure?",
            "shop.toml:9: hosts.no.url: must be set; add url = \"https://login.example\"",
        ] {
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}\n{found:#?}");
        }
    }
}
