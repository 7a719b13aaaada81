//! Reads `[connections]`.

use super::Refuse;
use tidegate_config::{Boolean, Choice, Preset::Is, Section, Text, Whole, keys};

use crate::client::connections::{Close, Connections, Http, KeepAlive, Sources};

keys! {
    /// Reuse and close of connections, and their source addresses.
    pub(super) static CONNECTIONS: ConnectionKeys {
        /// Version of HTTP: version 2 over TLS by ALPN, in clear text with prior knowledge.
        http: Choice<Http>(Http::ALL) = Is("1.1");
        /// What a connection is kept for: one request, one session, or a customer of the closed
        /// model over all sessions, together with the tickets.
        keep: Choice<KeepAlive>(KeepAlive::ALL) = Is("session");
        /// Connections end with close_notify and FIN, or with close_notify and RST, which leaves
        /// no port in TIME_WAIT.
        close: Choice<Close>(Close::ALL) = Is("shutdown");
        /// Source addresses. `auto` uses 64 addresses of 127.0.77.0/24 in turn for a target on
        /// loopback, and otherwise the system's choice.
        sources: Text("`auto`, `system`, or addresses and IPv4 networks with commas between") = Is("auto");
        /// Most HTTP/1.1 connections of a customer while the assets of a page are requested; six in
        /// browsers. Over HTTP/2 all assets share one connection.
        parallel: Whole(1, 100) = Is("6");
        /// Whether requests accept compressed responses, as those of browsers do: `Accept-Encoding:
        /// gzip, br, zstd`.
        accept_encoding: Boolean = Is("false");
    }
}

pub(super) fn read(section: &Section<'_>) -> Connections {
    section.known(&CONNECTIONS);
    let sources = section.get(CONNECTIONS.sources.name).and_then(|value| {
        let remedy = "write \"auto\", \"system\", or \"127.0.1.1,127.8.0.0/16\"";
        value.accept(Sources::parse(value.string()?), remedy)
    });
    Connections {
        http: section.field(&CONNECTIONS.http),
        keep: section.field(&CONNECTIONS.keep),
        close: section.field(&CONNECTIONS.close),
        sources: sources.unwrap_or_default(),
        accept_encoding: section.field(&CONNECTIONS.accept_encoding),
        parallel: section.field(&CONNECTIONS.parallel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Connections, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| {
            Some(read(&root.get("connections")?.section()?))
        })
        .map_err(|mistakes| mistakes.lines())
    }

    #[test]
    fn connections_are_read_and_every_mistake_is_reported() {
        let good = "[connections]\nkeep = \"request\"\nclose = \"reset\"\nsources = \"system\"\n\
                    http = \"2\"\nparallel = 2\naccept_encoding = true";
        let Connections { http, keep, close, sources, parallel, accept_encoding } =
            read_text(good).unwrap();
        assert!(accept_encoding);
        assert_eq!((keep, close, sources), (KeepAlive::Request, Close::Reset, Sources::System));
        assert_eq!((http, parallel), (Http::Two, 2));
        assert_eq!(read_text("[connections]").unwrap(), Connections::default());
        let bad = "[connections]\nkeep = \"sesion\"\nclose = 1\nsources = \"here\"\nhttp = 2";
        assert_eq!(
            read_text(bad).unwrap_err(),
            [
                "shop.toml:2: connections.keep = \"sesion\": must be one of request, session, customer; \
                 did you mean \"session\"?",
                "shop.toml:3: connections.close = 1: must be text in quotes; \
                 write it as \"shutdown\"",
                "shop.toml:4: connections.sources = \"here\": \"here\" is neither an address nor an IPv4 \
                 network; write \"auto\", \"system\", or \"127.0.1.1,127.8.0.0/16\"",
                "shop.toml:5: connections.http = 2: must be text in quotes; write it as \"1.1\"",
            ]
        );
    }
}
