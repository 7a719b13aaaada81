//! "Did you mean": the nearest of the known words by edit distance.

/// The known word nearest to a given one, if it is near enough to be meant:
/// at most a third of its letters differ (and always one or two in words of
/// over three letters). Ties go to the first.
pub fn nearest<'w>(given: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    // Distance is quadratic in length; nobody means a word of 100 letters.
    if given.len() > 100 {
        return None;
    }
    let given = given.to_ascii_lowercase().replace('-', "_");
    let distances = known.into_iter().map(|word| {
        let plain = word.to_ascii_lowercase().replace('-', "_");
        (distance(&given, &plain), word)
    });
    let (distance, word) = distances.min_by_key(|(distance, _)| *distance)?;
    let allowance = (word.len() / 3).max(if word.len() > 3 { 2 } else { 1 });
    (distance <= allowance).then_some(word)
}

/// Least number of letters to insert, delete, replace, or swap with their
/// neighbour that turns one word into the other.
///
/// Source: Damerau 1964, in the restricted form ("optimal string alignment").
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = usize::from(left[i - 1] != right[j - 1]);
                let plain = rows[i - 1][j - 1] + changed;
                let mut least = plain.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("adress", "address"), 1);
        assert_eq!(distance("hodl_time", "hold_time"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn typing_slips_find_the_word_and_strangers_do_not() {
        let known = ["hold_time", "hold_bytes", "policy", "rate"];
        assert_eq!(nearest("hodl_time", known), Some("hold_time"));
        assert_eq!(nearest("hold-time", known), Some("hold_time"));
        assert_eq!(nearest("Policy", known), Some("policy"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
