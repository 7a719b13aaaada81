//! Reads `[connections]`.

use tidegate_toml::{Section, Value};

use crate::plan::{Close, Connections, Http, Keep, Sources};

pub(super) fn read(section: &Section<'_>) -> Connections {
    section.only(&["http", "keep", "close", "sources"]);
    let http = section
        .get("http")
        .and_then(|value| Some([Http::One, Http::Two][value.choice(&["1.1", "2"])?]));
    let keep = section.get("keep").and_then(|value| {
        let all = [Keep::Request, Keep::Session, Keep::Customer];
        Some(all[value.choice(&["request", "session", "customer"])?])
    });
    let close = section.get("close").and_then(|value| {
        Some([Close::Shutdown, Close::Reset][value.choice(&["shutdown", "reset"])?])
    });
    let sources = section.get("sources").and_then(|value| sources(&value));
    Connections {
        http: http.unwrap_or_default(),
        keep: keep.unwrap_or_default(),
        close: close.unwrap_or_default(),
        sources: sources.unwrap_or_default(),
    }
}

fn sources(value: &Value<'_>) -> Option<Sources> {
    match Sources::parse(value.string()?) {
        Ok(sources) => Some(sources),
        Err(rule) => {
            value.wrong(rule, "write \"auto\", \"system\", or \"127.0.1.1,127.8.0.0/16\"");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Connections, Vec<String>> {
        tidegate_toml::read(text, "shop.toml", |root| {
            Some(read(&root.get("connections")?.section()?))
        })
        .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn connections_are_read_and_every_mistake_is_told() {
        let good = "[connections]\nkeep = \"request\"\nclose = \"reset\"\nsources = \"system\"\n\
                    http = \"2\"";
        let Connections { http, keep, close, sources } = read_text(good).unwrap();
        assert_eq!((keep, close, sources), (Keep::Request, Close::Reset, Sources::System));
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
