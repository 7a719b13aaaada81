//! Reads `[connections]`.

use tidegate_config::{Preset::Is, Section, Text, Words, keys};

use crate::client::connections::{Close, Connections, Http, KeepAlive, Sources};

keys! {
    /// Connection settings.
    pub(super) static CONNECTIONS: ConnectionKeys {
        /// HTTP version: 2 is negotiated by ALPN over TLS, and used with prior knowledge over plain
        /// TCP.
        http: Words(&["1.1", "2"]) = Is("\"1.1\"");
        /// A connection serves one request, one session, or a customer of the closed model
        /// from session to session, together with the tickets.
        keep: Words(&["request", "session", "customer"]) = Is("\"session\"");
        /// Connections end with close_notify and FIN, or with close_notify and RST, which
        /// leaves no port waiting.
        close: Words(&["shutdown", "reset"]) = Is("\"shutdown\"");
        /// Source addresses. `auto` visits a target on loopback from 64 addresses of
        /// 127.0.77.0/24 in turn, and else leaves it to the system.
        sources: Text("`auto`, `system`, or addresses and IPv4 networks with commas between") = Is("\"auto\"");
    }
}

pub(super) fn read(section: &Section<'_>) -> Connections {
    section.known(&CONNECTIONS);
    let http = section.read(&CONNECTIONS.http).map(|at| [Http::One, Http::Two][at]);
    let keep = section.read(&CONNECTIONS.keep);
    let keep = keep.map(|at| [KeepAlive::Request, KeepAlive::Session, KeepAlive::Customer][at]);
    let close = section.read(&CONNECTIONS.close).map(|at| [Close::Shutdown, Close::Reset][at]);
    let sources = sources(section);
    Connections {
        http: http.unwrap_or_default(),
        keep: keep.unwrap_or_default(),
        close: close.unwrap_or_default(),
        sources: sources.unwrap_or_default(),
    }
}

fn sources(section: &Section<'_>) -> Option<Sources> {
    match Sources::parse(section.read(&CONNECTIONS.sources)?) {
        Ok(sources) => Some(sources),
        Err(rule) => {
            let value = section.get(CONNECTIONS.sources.name)?;
            value.wrong(rule, "write \"auto\", \"system\", or \"127.0.1.1,127.8.0.0/16\"");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Connections, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| {
            Some(read(&root.get("connections")?.section()?))
        })
        .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn connections_are_read_and_every_mistake_is_told() {
        let good = "[connections]\nkeep = \"request\"\nclose = \"reset\"\nsources = \"system\"\n\
                    http = \"2\"";
        let Connections { http, keep, close, sources } = read_text(good).unwrap();
        assert_eq!((keep, close, sources), (KeepAlive::Request, Close::Reset, Sources::System));
        assert_eq!(http, Http::Two);
        let bad = "[connections]\nkeep = \"sesion\"\nclose = 1\nsources = \"here\"\nhttp = 2";
        assert_eq!(
            read_text(bad).unwrap_err(),
            [
                "shop.toml:2: connections.keep: = \"sesion\" is not known; did you mean session?",
                "shop.toml:3: connections.close: is an integer, must be a string; \
                 write it in quotes",
                "shop.toml:4: connections.sources: \"here\" is neither an address nor an IPv4 \
                 network; write \"auto\", \"system\", or \"127.0.1.1,127.8.0.0/16\"",
                "shop.toml:5: connections.http: is an integer, must be a string; \
                 write it in quotes",
            ]
        );
    }
}
