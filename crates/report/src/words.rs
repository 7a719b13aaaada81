//! Words of sentences.

/// With a capital letter first.
pub fn capital(text: &str) -> String {
    first(text, |letter| letter.to_uppercase().collect())
}

/// With a small letter first.
pub fn small(text: &str) -> String {
    first(text, |letter| letter.to_lowercase().collect())
}

fn first(text: &str, change: fn(char) -> String) -> String {
    let mut letters = text.chars();
    letters.next().map(change).unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_letter_changes_alone() {
        assert_eq!(["über Bord", "", "ß"].map(capital), ["Über Bord", "", "SS"]);
        assert_eq!(small("All Goals"), "all Goals");
    }
}
