//! Search by the words of an item's name.

use axum::extract::{RawQuery, State};
use maud::{Markup, html};
use url::form_urlencoded;

use super::app::App;
use super::failure::Failure;
use super::field;
use super::layout::{self, Crumb, pager, range};
use super::search::{PageQuery, cards, category, region};
use crate::catalogue::{CATEGORIES, REGIONS};
use crate::store::keywords::{self, MOST, Search};
use crate::store::{PAGE, pages};
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when;
use tidegate_sitekit::{Problem, Result};

/// Most characters of a search.
const LONGEST: usize = 100;

/// What the address asks for. Whatever is unknown in it is ignored.
#[derive(Debug, Default)]
struct Asked {
    text: String,
    category: i64,
    region: i64,
    page: PageQuery,
}

impl Asked {
    fn read(query: &str) -> Result<Self, Problem> {
        let mut asked = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "q" => value.trim().clone_into(&mut asked.text),
                "category" if !matches!(&*value, "" | "0") => asked.category = category(&value)?.0,
                "region" if !matches!(&*value, "" | "0") => asked.region = region(&value)?.0,
                "page" => asked.page = PageQuery::new(value.into_owned()),
                _ => {}
            }
        }
        let characters = asked.text.chars().count();
        if characters > LONGEST {
            return Err(Problem::new(
                400,
                "This search is too long",
                format!("It must be 1 to {LONGEST} characters long; these are {characters}."),
                "Search for fewer words.",
            ));
        }
        Ok(asked)
    }

    /// The address of the results, without the page.
    fn address(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", &self.text);
        for (name, id) in [("category", self.category), ("region", self.region)] {
            if id != 0 {
                query.append_pair(name, &id.to_string());
            }
        }
        format!("/search?{}", query.finish())
    }

    fn form(&self) -> Markup {
        let categories = (1..).zip(CATEGORIES.iter().map(|category| category.name));
        let regions = (1..).zip(REGIONS);
        html! {
            form.panel.filter method="get" action="/search" role="search" aria-label="Search with filters" {
                (field::keywords("Words", "q", LONGEST, &self.text))
                (field::select("Category", "category", [(0, "All categories")].into_iter().chain(categories), self.category))
                (field::select("Region", "region", [(0, "All regions")].into_iter().chain(regions), self.region))
                button type="submit" { "Search" }
            }
        }
    }
}

/// GET /search?q=WORDS&category=N&region=N&page=N
pub async fn results(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Page, Failure> {
    let asked = Asked::read(query.as_deref().unwrap_or_default())?;
    let (title, found) = match Search::new(&asked.text, asked.category, asked.region) {
        Some(search) => {
            (format!("Results for “{}”", asked.text), found(&app, &asked, search).await?)
        }
        None => (
            "Search the auctions".into(),
            html! {
                @if asked.text.is_empty() {
                    p.aside { "Type the words that the name of the thing would have. The newest items come first." }
                } @else {
                    p.notice { "There is no word to search for in “" (asked.text) "”: type letters or digits." }
                }
            },
        ),
    };
    let body = html! { (asked.form()) (found) };
    Ok(layout::page(&title, &[Crumb::Above("/browse", "Browse"), Crumb::Here("Search")], body))
}

async fn found(app: &App, asked: &Asked, search: Search) -> Result<Markup> {
    let counted = keywords::count(&app.database, &search).await?;
    let entries = counted.min(MOST);
    let (pages, now) = (pages(entries, PAGE), when::now());
    let page = asked.page.of(pages)?;
    let items = keywords::find(&app.database, &search, now, (page - 1) * PAGE).await?;
    Ok(html! {
        @if items.is_empty() {
            p.notice {
                "Nothing on offer has all of these words in its name. Try fewer words or other ones, "
                "all categories and regions, or " a href="/browse" { "browse" } "."
            }
        } @else {
            p.lead {
                "Items " (range(page, items.len(), entries))
                @if counted > MOST { " (there are more; add a word)" }
                ", the newest first."
            }
            (cards(&items, now))
        }
        (pager(&asked.address(), page, pages))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_written_alike() {
        let query = "q=%22old%22+caf%C3%A9+%26&category=7&region=12";
        let asked = Asked::read(query).unwrap();
        assert_eq!((asked.text.as_str(), asked.category, asked.region), ("\"old\" café &", 7, 12));
        assert_eq!(asked.address(), format!("/search?{query}"));
        let none = Asked::read("category=0&region=&q=+&x=%ff%fe&&=&page=2").unwrap();
        assert_eq!(none.address(), "/search?q=");
    }

    #[test]
    fn what_does_not_exist_is_refused_with_the_reason() {
        for (query, status) in [
            (format!("q={}", "ä".repeat(LONGEST + 1)), 400),
            ("q=a&category=21".into(), 404),
            ("q=a&region=x".into(), 404),
        ] {
            assert_eq!(Asked::read(&query).unwrap_err().status, status, "{query}");
        }
        Asked::read(&format!("q={}", "ä".repeat(LONGEST))).unwrap();
    }
}
