//! The command line of this process, as a result states it.

/// The command in the syntax of a shell, without secrets.
pub(crate) fn line() -> String {
    let mut args = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned());
    let program = args.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let words = std::iter::once(program).chain(args.map(|arg| without_secret(&arg)));
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// Leaves out the value behind a name that belongs to a secret, as in `-H 'Authorization: …'`
/// or `--data '{"password": …}'`.
fn without_secret(arg: &str) -> String {
    let lower = arg.to_ascii_lowercase();
    // The host of a URL is no name of a value.
    let begin = if lower.contains("://") { lower.find('?').unwrap_or(lower.len()) } else { 0 };
    let found = |name: &&str| Some(begin + lower[begin..].find(*name)? + name.len());
    let first = tidegate_load::SECRET_NAMES.iter().filter_map(found).min();
    let end = first.and_then(|from| Some(from + arg.get(from..)?.find([':', '='])? + 1));
    match end {
        Some(end) => format!("{}…", &arg[..end]),
        None => arg.to_owned(),
    }
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_secrets_are_left_out() {
        for (arg, shown) in [
            ("Authorization: Bearer abc", "Authorization:…"),
            ("--header=X-Api-Key: abc", "--header=X-Api-Key:…"),
            (r#"{"user": "a", "password": "b"}"#, r#"{"user": "a", "password":…"#),
            ("user=a&password=b", "user=a&password=…"),
            ("https://127.0.0.1/items?token=abc", "https://127.0.0.1/items?token=…"),
            ("Accept: text/html", "Accept: text/html"),
            ("https://tokens.example:8443/", "https://tokens.example:8443/"),
            ("--forged-tickets", "--forged-tickets"),
        ] {
            assert_eq!(without_secret(arg), shown);
        }
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_change_it() {
        for (word, shown) in [
            ("https://127.0.0.1:8443/a", "https://127.0.0.1:8443/a"),
            ("https://a/?b=c&d", "'https://a/?b=c&d'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("rate = 5", "'rate = 5'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
