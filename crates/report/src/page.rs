//! A page: one HTML file that refers to no other file. It is a list of blocks.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::Table;

const STYLE: &str = include_str!("report.css");

/// A page.
#[derive(Debug)]
pub struct Page {
    title: String,
    blocks: Vec<Markup>,
}

impl Page {
    /// An empty page with this title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Rules of its own beside those of every page.
    pub fn style(self, css: String) -> Self {
        self.raw(html! { style { (PreEscaped(css)) } })
    }

    /// A line above the main heading: what the page is of.
    pub fn kicker(self, text: Markup) -> Self {
        self.raw(html! { p.kicker { (text) } })
    }

    /// The main heading, and what it means below it.
    pub fn headline(self, text: &str, lead: Markup) -> Self {
        self.raw(html! { h1 { (text) } p.lead { (lead) } })
    }

    /// The heading of a section.
    pub fn heading(self, text: &str) -> Self {
        self.raw(html! { h2 { (text) } })
    }

    /// The heading of a section that links lead to.
    pub fn anchor(self, id: &str, text: &str) -> Self {
        self.raw(html! { h2 id=(id) { (text) } })
    }

    /// The heading of a part of a section.
    pub fn subheading(self, text: &str) -> Self {
        self.raw(html! { h3 { (text) } })
    }

    /// Paragraphs.
    pub fn paragraphs<T: AsRef<str>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.raw(html! { @for text in texts { p { (text.as_ref()) } } })
    }

    /// An explanation in soft letters.
    pub fn soft(self, text: Markup) -> Self {
        self.raw(html! { p.soft { (text) } })
    }

    /// What a reader has to know before the figures.
    pub fn notes(self, notes: &[String]) -> Self {
        self.raw(html! { @for note in notes { p.note { (note) } } })
    }

    /// Key figures side by side, each with what it is; nothing without any.
    pub fn cards(self, cards: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut cards = cards.into_iter().peekable();
        if cards.peek().is_none() {
            return self;
        }
        self.raw(html! { div.cards.key { @for (value, label) in cards {
            div.card { b { (value) } span { (label) } }
        } } })
    }

    /// Terms (`dt`) and what they stand for (`dd`).
    pub fn definitions(self, terms: Markup) -> Self {
        self.raw(html! { dl.how { (terms) } })
    }

    /// Sections side by side.
    pub fn columns(self, sections: impl IntoIterator<Item = Markup>) -> Self {
        self.raw(html! { div.columns { @for section in sections { section { (section) } } } })
    }

    /// A list of sentences.
    pub fn list<T: AsRef<str>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.raw(html! { ul { @for text in texts { li { (text.as_ref()) } } } })
    }

    /// A table.
    pub fn table(self, table: &Table) -> Self {
        self.raw(table.html())
    }

    /// A table that is folded away under its title.
    pub fn folded(self, title: &str, table: &Table) -> Self {
        self.raw(html! { details { summary { (title) } (table.html()) } })
    }

    /// A figure by itself.
    pub fn figure(self, figure: &Markup) -> Self {
        self.raw(html! { div.charts.single { (figure) } })
    }

    /// Figures side by side.
    pub fn figures(self, figures: impl IntoIterator<Item = Markup>) -> Self {
        self.raw(html! { div.charts { @for figure in figures { (figure) } } })
    }

    /// Anything else.
    pub fn raw(mut self, markup: Markup) -> Self {
        self.blocks.push(markup);
        self
    }

    /// The complete HTML document.
    pub fn html(&self) -> String {
        page(&self.title, &html! { @for block in &self.blocks { (block) } })
    }
}

/// A complete HTML document with this title and content.
pub fn page(title: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_in_their_order_and_texts_are_escaped() {
        let mut table = Table::new(["a"]);
        table.row(["<1>"]);
        let page = Page::new("a <title>")
            .style(".x > y { }".into())
            .headline("a <headline>", html! { "what it " em { "means" } })
            .notes(&["a <note>".into()])
            .cards([])
            .cards([("1/s".into(), "a <card>".into())])
            .columns([html! { "left" }, html! { "right" }])
            .heading("first")
            .table(&table)
            .list(["a <sentence>"])
            .definitions(html! { dt { "a <term>" } dd { "means" } })
            .html();
        let order = [
            "<title>a &lt;title&gt;</title>",
            ".x > y { }",
            "<h1>a &lt;headline&gt;</h1><p class=\"lead\">what it <em>means</em></p>",
            "<p class=\"note\">a &lt;note&gt;</p>",
            "<div class=\"cards key\"><div class=\"card\"><b>1/s</b><span>a &lt;card&gt;</span></div></div>",
            "<section>left</section><section>right</section>",
            "<h2>first</h2>",
            "<td>&lt;1&gt;</td>",
            "<ul><li>a &lt;sentence&gt;</li></ul>",
            "<dl class=\"how\"><dt>a &lt;term&gt;</dt><dd>means</dd></dl>",
        ];
        let places = order.map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}")));
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(page.matches("<div class=\"cards").count(), 1, "no cards, no frame");
    }
}
