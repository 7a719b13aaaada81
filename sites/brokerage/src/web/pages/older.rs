//! Lists that begin with the newest entries and go back page by page.

use maud::{Markup, html};
use url::form_urlencoded;

use crate::protocol::Problem;

/// The number before which entries are listed. `of` and `entry` say of what: "deposits" and "a
/// deposit".
///
/// # Errors
/// The address names something else.
pub fn before(query: &str, of: &str, entry: &str, newest: &str) -> Result<Option<i64>, Problem> {
    let mut values = form_urlencoded::parse(query.as_bytes());
    let Some((_, value)) = values.find(|(name, _)| name == "before") else { return Ok(None) };
    let number = value.parse::<i64>().ok().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| {
        let what = format!("There is no such page of {of}");
        let why = format!("The address must end with ?before= and the number of {entry}.");
        Problem::new(400, &what, why, &format!("Begin at the newest {newest}."))
    })
}

/// The ways to the newest entries, from an older page, and to those before this number.
pub fn links(path: &str, older: bool, before: Option<i64>, text: &str) -> Markup {
    html! {
        p.actions {
            @if older { a href=(path) { "Newest" } " " }
            @if let Some(before) = before { a.button rel="next" href={ (path) "?before=" (before) } { (text) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_by_the_number_of_an_entry() {
        let before = |query| before(query, "deposits", "a deposit", "deposits");
        assert_eq!(before(""), Ok(None));
        assert_eq!(before("x=y"), Ok(None));
        assert_eq!(before("before=17"), Ok(Some(17)));
        for query in ["before=", "before=0", "before=-1", "before=x", "before=99999999999999999999"]
        {
            assert_eq!(before(query).unwrap_err().status, 400, "{query}");
        }
    }
}
