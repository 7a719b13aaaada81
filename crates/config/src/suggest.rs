//! "Did you mean": the nearest of the known words by edit distance.

/// Longest word that is compared, in bytes: the distance takes quadratic time.
const LONGEST: usize = 100;

/// The known word nearest to a given one, if at most a third of its letters
/// differ (or two, in words of more than three letters; or one), but not all of them. Upper case and
/// `-` count as lower case and `_`. Of equal distances the first word counts.
///
/// Source: Damerau 1964, "A technique for computer detection and correction of
/// spelling errors", in the restricted form (optimal string alignment).
pub(crate) fn nearest<'w>(
    given: &str,
    known: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    if given.len() > LONGEST {
        return None;
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let given = plain(given);
    let distances =
        known.into_iter().map(|word| (strsim::osa_distance(&given, &plain(word)), word));
    let (distance, word) = distances.min_by_key(|(distance, _)| *distance)?;
    let allowance = (word.len() / 3).max(if word.len() > 3 { 2 } else { 1 });
    (distance <= allowance && distance < word.len()).then_some(word)
}

/// The question whether the nearest of the words was meant, if one is near.
pub fn did_you_mean(given: &str, words: &[&str]) -> Option<String> {
    nearest(given, words.iter().copied()).map(|near| format!("did you mean {near}?"))
}

/// The same, or else the list of the known keys.
pub(crate) fn known_key(given: &str, keys: &[&str]) -> String {
    did_you_mean(given, keys).unwrap_or_else(|| format!("known keys: {}", keys.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_word_and_an_unrelated_word_does_not() {
        let known = ["hold_time", "hold_bytes", "policy", "rate"];
        assert_eq!(nearest("hodl_time", known), Some("hold_time"));
        assert_eq!(nearest("hold-time", known), Some("hold_time"));
        assert_eq!(nearest("Policy", known), Some("policy"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest("c", ["a", "b"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
