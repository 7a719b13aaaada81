//! Divides a stream of events.
//!
//! Source: WHATWG HTML, section 9.2.6. Deviation: a byte order mark is part of the first line.

/// Takes the first whole event away: it ends with an empty line.
pub(crate) fn split_event(text: &mut Vec<u8>) -> Option<Vec<u8>> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
    let found = ends
        .iter()
        .filter_map(|end| memchr::memmem::find(text, end).map(|at| (at, at + end.len())));
    let (at, behind) = found.min()?;
    let event = text[..at].to_vec();
    text.drain(..behind);
    Some(event)
}

/// The data of an event, its lines joined; `None` for one without.
pub(crate) fn data_of(event: &[u8]) -> Option<Vec<u8>> {
    let lines = event.split(|byte| matches!(byte, b'\n' | b'\r'));
    let data = lines.filter_map(|line| {
        let value = line.strip_prefix(b"data")?;
        let value = match value.strip_prefix(b":") {
            Some(value) => value.strip_prefix(b" ").unwrap_or(value),
            None if value.is_empty() => value,
            None => return None,
        };
        Some(value)
    });
    let lines: Vec<&[u8]> = data.collect();
    (!lines.is_empty()).then(|| lines.join(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_divided_by_empty_lines_and_comments_have_no_data() {
        let mut text =
            b": hello\n\ndata: a\ndata:b\nid: 7\n\nevent: x\r\ndata\r\n\r\ndata: c".to_vec();
        let mut next = || split_event(&mut text).map(|event| data_of(&event));
        assert_eq!(next(), Some(None));
        assert_eq!(next(), Some(Some(b"a\nb".to_vec())));
        assert_eq!(next(), Some(Some(Vec::new())));
        assert_eq!(next(), None, "the last is not over");
    }
}
