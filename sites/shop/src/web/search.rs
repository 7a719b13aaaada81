//! Search by the words of a product's name.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use maud::html;
use url::form_urlencoded;

use super::app::App;
use super::failure::{Failure, missing};
use super::layout::{self, cards, count, pager};
use super::visitor::ZoneCookie;
use crate::store::products::WORDS;
use crate::store::{PAGE, pages, products};
use tidegate_sitekit::Problem;

/// Most characters of a search.
const LONGEST: usize = 100;

/// GET /search?q=WORDS&page=N
pub async fn results(
    State(app): State<App>,
    ZoneCookie(zone): ZoneCookie,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let (words, page) = read(query.as_deref().unwrap_or_default())?;
    let address = |page: i64| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", &words.join(" "));
        if page > 1 {
            query.append_pair("page", &page.to_string());
        }
        format!("/search?{}", query.finish())
    };
    app.browse(&headers, (zone, address(page), None), async |around| {
        if words.is_empty() {
            let body = html! { h1 { "Search" } p.notice { "Type the words that the name of the thing would have: letters or digits." } };
            return Ok(layout::page(&around, "Search", &[], &body));
        }
        let (entries, found) = products::search(&app.database, &words, (page - 1) * PAGE).await?;
        let pages = pages(entries);
        if page > pages {
            return Err(missing("page", &format!("This search has {pages}.")).into());
        }
        let title = format!("Results for “{}”", words.join(" "));
        let body = html! {
            h1 { (title) }
            @if found.is_empty() {
                p.notice { "Nothing has all of these words in its name. Try fewer words or other ones, or browse the departments." }
            } @else {
                p.lead { (count(entries, "product", "products")) "." }
                (cards(&around.zone, &found))
            }
            (pager(page, pages, address))
        };
        Ok(layout::page(&around, &title, &[], &body))
    })
    .await
}

/// The words and the page of a search. Whatever else is in the address is ignored.
fn read(query: &str) -> Result<(Vec<String>, i64), Problem> {
    let value = |name: &str| {
        let found = form_urlencoded::parse(query.as_bytes()).find(|(found, _)| found == name);
        found.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let (text, page) = (value("q"), value("page"));
    let characters = text.chars().count();
    if characters > LONGEST {
        return Err(Problem::new(
            400,
            "This search is too long",
            format!("It must be 1 to {LONGEST} characters long; these are {characters}."),
            "Search for fewer words.",
        ));
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.take(WORDS).map(str::to_lowercase).collect();
    let page = match page.as_str() {
        "" => 1,
        text => text
            .parse()
            .ok()
            .filter(|page| (1..=100_000).contains(page))
            .ok_or_else(|| missing("page", "A page is a number from 1 up."))?,
    };
    Ok((words, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_a_few_words_of_letters_and_digits() {
        let words = |query: &str| read(query).unwrap().0;
        assert_eq!(words("q=Oak+%22lamp%22;--&x=y"), ["oak", "lamp"]);
        assert_eq!(words("q=a+b+c+d+e+f"), ["a", "b", "c", "d"]);
        assert_eq!(words("q=%25_%27"), Vec::<String>::new());
        assert_eq!(read("q=a&page=3").unwrap().1, 3);
        for (query, status) in [
            (format!("q={}", "ä".repeat(101)), 400),
            ("page=0".into(), 404),
            ("page=x".into(), 404),
        ] {
            assert_eq!(read(&query).unwrap_err().status, status, "{query}");
        }
    }
}
