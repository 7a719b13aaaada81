//! A page: one HTML file that refers to no other file. It is a list of blocks.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use crate::Table;

/// The rules of every page.
const STYLE: &str = include_str!("report.css");

/// A page, or without a title a part of one.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    blocks: Vec<Markup>,
    styles: Vec<String>,
    scripts: Vec<String>,
}

/// The blocks without what surrounds them in a document.
impl Render for Page {
    fn render(&self) -> Markup {
        html! { @for block in &self.blocks { (block) } }
    }
}

impl Page {
    /// An empty page with this title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Rules of its own beside those of every page.
    pub fn style(mut self, css: String) -> Self {
        let block = html! { style { (PreEscaped(&css)) } };
        self.styles.push(css);
        self.raw(block)
    }

    /// A script. Without it the page shows the same, and does not change.
    pub fn script(mut self, text: &str) -> Self {
        self.scripts.push(text.to_owned());
        self.raw(html! { script { (PreEscaped(text)) } })
    }

    /// Its style sheets and its scripts, exactly as they stand in the document: a
    /// Content-Security-Policy allows them by their hashes.
    pub fn inlined(&self) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
        let styles = std::iter::once(STYLE).chain(self.styles.iter().map(String::as_str));
        (styles, self.scripts.iter().map(String::as_str))
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

    /// Key figures as cards: each a value, and what it is; nothing without any. `class` adds CSS
    /// classes to `cards`.
    pub fn cards<V: Render, N: Render>(
        self,
        class: &str,
        cards: impl IntoIterator<Item = (V, N)>,
    ) -> Self {
        let mut cards = cards.into_iter().peekable();
        if cards.peek().is_none() {
            return self;
        }
        let class = format!("cards {class}");
        self.raw(html! { div class=(class.trim_end()) { @for (value, name) in cards {
            div.card { b { (value) } span { (name) } }
        } } })
    }

    /// Terms (`dt`) and what they stand for (`dd`), where they are written as markup.
    pub fn definitions(self, terms: Markup) -> Self {
        self.raw(html! { dl.how { (terms) } })
    }

    /// A list of sentences.
    pub fn list<T: AsRef<str>>(self, texts: impl IntoIterator<Item = T>) -> Self {
        self.raw(html! { ul { @for text in texts { li { (text.as_ref()) } } } })
    }

    /// Facts: the name of each, and what is true of it.
    pub fn facts<N: Render, V: Render>(self, facts: impl IntoIterator<Item = (N, V)>) -> Self {
        self.raw(html! { dl.how { @for (name, value) in facts { dt { (name) } dd { (value) } } } })
    }

    /// Parts side by side where the screen is wide enough.
    pub fn columns(self, parts: impl IntoIterator<Item = Self>) -> Self {
        self.raw(html! { div.columns { @for part in parts { section { (part) } } } })
    }

    /// A table.
    pub fn table(self, table: &Table) -> Self {
        self.raw(table)
    }

    /// Blocks or a table that are folded away under their title.
    pub fn folded(self, title: &str, content: impl Render) -> Self {
        self.raw(html! { details { summary { (title) } (content) } })
    }

    /// A figure by itself.
    pub fn figure(self, figure: &Markup) -> Self {
        self.raw(html! { div.charts.single { (figure) } })
    }

    /// Figures side by side.
    pub fn figures(self, figures: impl IntoIterator<Item = Markup>) -> Self {
        self.raw(html! { div.charts { @for figure in figures { (figure) } } })
    }

    /// These blocks as well, where the condition holds.
    pub fn only_if(self, holds: bool, blocks: impl FnOnce(Self) -> Self) -> Self {
        if holds { blocks(self) } else { self }
    }

    /// Anything else.
    pub fn raw(mut self, block: impl Render) -> Self {
        self.blocks.push(block.render());
        self
    }

    /// The complete HTML document.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body { main { (self) } }
            }
        };
        page.into_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policy_allows_is_what_the_document_has() {
        let page = Page::new("").style("a > b { }".into()).script("1 < 2;");
        let html = page.html();
        let (styles, scripts) = page.inlined();
        let (styles, scripts): (Vec<_>, Vec<_>) = (styles.collect(), scripts.collect());
        assert_eq!((styles.len(), scripts.len()), (2, 1));
        let within = |tag: &str, text: &str| html.contains(&format!("<{tag}>{text}</{tag}>"));
        assert!(styles.iter().all(|text| within("style", text)), "{html}");
        assert!(scripts.iter().all(|text| within("script", text)), "{html}");
        assert_eq!(html.matches("<style").count() + html.matches("<script").count(), 3);
    }

    #[test]
    fn blocks_stand_in_their_order_and_texts_are_escaped() {
        let mut table = Table::new(["a"]);
        table.row(["<1>"]);
        let page = Page::new("a <title>")
            .style(".x > y { }".into())
            .headline("a <headline>", html! { "what it " em { "means" } })
            .notes(&["a <note>".into()])
            .heading("first")
            .table(&table)
            .list(["a <sentence>"])
            .cards("key", [("1", "<one>")])
            .cards("key", <[(&str, &str); 0]>::default())
            .facts([("what", html! { b { "it is" } })])
            .columns(["left", "right"].map(|side| Page::default().subheading(side)))
            .folded("more", Page::default().paragraphs(["<within>"]))
            .only_if(false, |page| page.heading("absent"))
            .definitions(html! { dt { "a <term>" } dd { "means" } })
            .html();
        let order = [
            "<title>a &lt;title&gt;</title>",
            ".x > y { }",
            "<h1>a &lt;headline&gt;</h1><p class=\"lead\">what it <em>means</em></p>",
            "<p class=\"note\">a &lt;note&gt;</p>",
            "<h2>first</h2>",
            "<td>&lt;1&gt;</td>",
            "<ul><li>a &lt;sentence&gt;</li></ul>",
            "<div class=\"cards key\"><div class=\"card\"><b>1</b><span>&lt;one&gt;</span>",
            "<dl class=\"how\"><dt>what</dt><dd><b>it is</b></dd></dl>",
            "<section><h3>left</h3></section><section><h3>right</h3></section>",
            "<details><summary>more</summary><p>&lt;within&gt;</p></details>",
            "<dl class=\"how\"><dt>a &lt;term&gt;</dt><dd>means</dd></dl>",
        ];
        let places = order.map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}")));
        assert!(places.is_sorted(), "{places:?}");
        assert!(!page.contains("absent"));
        assert_eq!(page.matches("<div class=\"cards").count(), 1, "no cards, no frame");
    }
}
