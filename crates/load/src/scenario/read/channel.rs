//! Reads what a page has to do with a WebSocket or a stream of events.

use std::time::Duration;

use tidegate_config::Section;

use super::fields::{media_type, text};
use super::names::Names;
use super::pages::PAGE;
use crate::scenario::page::{Body, BodySource, ChannelUse, MessageRule};

/// Whether the page is a message: it has no address.
pub(super) fn is_message(section: &Section<'_>) -> bool {
    let has = |key: &str| section.get(key).is_some();
    let holds = || section.given(&PAGE.hold).is_some_and(|hold| !hold.is_zero());
    has(PAGE.send.name) || has(PAGE.expect.name) || !has(PAGE.opens.name) && holds()
}

/// What the page does with a channel, and what it sends there.
pub(super) fn read(section: &Section<'_>, names: &Names) -> (Option<ChannelUse>, Option<Body>) {
    let has = |key: &str| section.get(key).is_some();
    let hold = section.given(&PAGE.hold).unwrap_or(Duration::ZERO);
    if has(PAGE.opens.name) {
        for key in [PAGE.send.name, PAGE.expect.name].into_iter().filter(|key| has(key)) {
            let value = section.get(key).expect("found above");
            value.wrong("does not go with opens", "write a page of its own for the message");
        }
        if !has(PAGE.path.name) {
            section.wrong("opens a channel without a path", "add path = \"/chat\"");
        }
        let kind = section.given(&PAGE.opens);
        return (kind.map(|kind| ChannelUse::Open { kind, hold }), None);
    }
    if !is_message(section) {
        // The default changes nothing.
        let several = section.given(&PAGE.messages).is_some_and(|times| times != 1);
        let key = if several { PAGE.messages.name } else { PAGE.every.name };
        if let Some(value) = section.get(key).filter(|_| several || has(PAGE.every.name)) {
            value.wrong("goes with send or expect", "add expect = \"hello\", or remove it");
        }
        return (None, None);
    }
    for key in not_of_messages().into_iter().filter(|key| has(key)) {
        let value = section.get(key).expect("found above");
        value.wrong("does not go with a message", "write a page of its own for the request");
    }
    if has(PAGE.every.name) && !has(PAGE.messages.name) {
        let value = section.get(PAGE.every.name).expect("found above");
        value.wrong("goes with messages", "add messages = 20");
    }
    let sends = section.get(PAGE.send.name).and_then(|value| text(&value, names));
    let kind = match section.get(PAGE.content_type.name) {
        Some(value) => media_type(&value),
        None => Some("text/plain".to_owned()),
    };
    let body = sends
        .zip(kind)
        .map(|(parts, content_type)| Body { content_type, source: BodySource::Text(parts) });
    let rule = MessageRule {
        sends: has(PAGE.send.name),
        expect: section.get(PAGE.expect.name).and_then(|value| text(&value, names)),
        times: section.field(&PAGE.messages),
        every: section.given(&PAGE.every),
        hold,
    };
    (Some(ChannelUse::Message(rule)), body)
}

/// Keys of requests that a message does not have.
fn not_of_messages() -> [&'static str; 11] {
    [
        PAGE.host.name,
        PAGE.method.name,
        PAGE.fields.name,
        PAGE.multipart.name,
        PAGE.body.name,
        PAGE.body_base64.name,
        PAGE.body_file.name,
        PAGE.headers.name,
        PAGE.allow.name,
        PAGE.assets.name,
        PAGE.via.name,
    ]
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use crate::scenario::Scenario;
    use crate::scenario::page::{ChannelKind, ChannelUse};
    use std::time::Duration;

    const GOOD: &str = r#"
[session]
steps = ["Chat", "Say", "Listen"]
[pages]
Chat = { path = "/chat", opens = "websocket" }
Say = { send = "hello {customer}", expect = "hello", messages = 20, every = "100ms" }
Listen = { hold = "5s" }
"#;

    #[test]
    fn a_page_without_an_address_is_a_message() {
        let scenario = Scenario::from_toml(GOOD, "chat.toml").unwrap();
        let [chat, say, listen] = scenario.pages() else { panic!("three pages") };
        let opens = ChannelUse::Open { kind: ChannelKind::WebSocket, hold: Duration::ZERO };
        assert_eq!(chat.channel, Some(opens));
        let Some(ChannelUse::Message(rule)) = &say.channel else { panic!("a message") };
        assert!(rule.sends && rule.expect.is_some() && say.body.is_some());
        assert_eq!((rule.times, rule.every), (20, Some(Duration::from_millis(100))));
        assert_eq!(listen.hold(), Duration::from_secs(5));
    }

    #[test]
    fn the_example_of_the_documentation_is_sound() {
        let text = include_str!("../../../../../docs/load-websocket-example.toml");
        let example = Scenario::from_toml(text, "example.toml").unwrap_or_else(|it| panic!("{it}"));
        assert!(example.notes().is_empty());
    }

    #[test]
    fn mistakes_about_messages_have_their_place_and_remedy() {
        for (from, to, expected) in [
            (
                "opens = \"websocket\"",
                "opens = \"socket\"",
                "pages.Chat.opens = \"socket\": must be",
            ),
            ("path = \"/chat\", ", "", "pages.Chat: opens a channel without a path; add path"),
            (
                "send = ",
                "path = \"/say\", send = ",
                "pages.Say: has 1 of path, link and form, must have none",
            ),
            ("messages = 20, ", "", "pages.Say.every = \"100ms\": goes with messages; add"),
            (
                "hold = ",
                "method = \"GET\", hold = ",
                "method = \"GET\": does not go with a message;",
            ),
            ("\"/chat\", ", "\"/chat\", send = \"x\", ", "send = \"x\": does not go with opens;"),
            ("steps = [\"Chat\", ", "steps = [", "session.steps[0] = \"Say\": goes to a WebSocket"),
        ] {
            let found = mistakes(&GOOD.replacen(from, to, 1));
            assert!(found.iter().any(|line| line.contains(expected)), "{expected}\n{found:#?}");
        }
    }
}
