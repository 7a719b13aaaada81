//! What the names of failures, refusals and stages in a result mean.

/// In words; a name that this version does not know is its own description.
pub(super) fn meaning(name: &str) -> String {
    let known = MEANINGS.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| of_part(name), |(_, meaning)| (*meaning).to_owned())
}

/// A refusal or a lost patience with its kind.
fn of_part(name: &str) -> String {
    let part = ["refused", "abandoned"].into_iter().find_map(|part| {
        let kind = name.strip_prefix(part)?.strip_prefix('_')?;
        Some(format!("{part}: {}", meaning(kind)))
    });
    part.unwrap_or_else(|| name.replace('_', " "))
}

const MEANINGS: &[(&str, &str)] = &[
    ("connect_refused", "connection refused: nothing listens"),
    ("unreachable", "no route to the target"),
    ("connect_timeout", "the connection was not made in time"),
    ("no_ports", "the load generator ran out of source ports"),
    ("no_resources", "the load generator ran out of file descriptors or memory"),
    ("returning_refused", "a later connection of an admitted session was refused"),
    ("tls", "TLS failed"),
    ("reset", "connection reset"),
    ("closed", "connection closed before the answer was complete"),
    ("http", "the answer is not HTTP of the requested version"),
    ("stream_refused", "HTTP/2: the server did not begin the request"),
    ("stream_reset", "HTTP/2: the server ended the request before its answer"),
    ("go_away", "HTTP/2: the server takes no more requests"),
    ("status_4xx", "status 400 to 499"),
    ("status_5xx", "status 500 to 599"),
    ("redirect_elsewhere", "redirect to another origin, which is not followed"),
    ("redirect_loop", "too many redirects"),
    ("check", "a check of the answer failed"),
    ("soft_check", "a soft check failed; the session continued"),
    ("extraction", "a value was not found in the answer"),
    ("not_offered", "the page does not offer the next step"),
    ("unsendable", "a value cannot be sent in a header field"),
    ("other", "another error of the system"),
    ("alert", "TLS alert"),
    ("connect", "no connection yet"),
    ("handshake", "TLS handshake not complete"),
    ("first_byte", "no byte of the answer yet"),
    ("last_byte", "answer not complete"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_described_and_an_unknown_one_shown_by_its_name() {
        assert_eq!(meaning("status_5xx"), "status 500 to 599");
        assert_eq!(meaning("status_405"), "status 405");
        assert_eq!(meaning("refused_alert"), "refused: TLS alert");
        assert_eq!(meaning("made_of_cheese"), "made of cheese");
    }
}
