//! Form fields, each with its label and what is wrong with it.

use maud::{Markup, html};

use crate::{Mistake, Problem};

/// What a form was filled in with, and what is wrong with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filled<'a> {
    /// The mistakes.
    pub mistakes: &'a [Mistake],
}

impl<'a> Filled<'a> {
    /// What is wrong with a field.
    pub fn mistakes_of(&self, name: &str) -> Vec<&'a str> {
        let of = self.mistakes.iter().filter(|mistake| mistake.field == name);
        of.map(|mistake| mistake.text.as_str()).collect()
    }

    /// What is wrong with a field, to be shown beside it.
    pub fn wrong(&self, name: &str) -> Markup {
        let mistakes = self.mistakes_of(name);
        html! {
            @if !mistakes.is_empty() {
                p.wrong #{ (name) "-wrong" } { span.unseen { "Error: " } (mistakes.join(" ")) }
            }
        }
    }

    /// A choice between several controls, with what is wrong with it.
    pub fn choice(&self, legend: &str, name: &str, controls: Markup) -> Markup {
        let wrong = (!self.mistakes_of(name).is_empty()).then(|| format!("{name}-wrong"));
        html! {
            fieldset #(name) aria-describedby=[wrong] {
                legend { (legend) }
                (self.wrong(name))
                div.choices { (controls) }
            }
        }
    }

    /// A field with its label; `control` makes the control with these attributes: the id of
    /// its mistakes, and whether there are any.
    pub fn field(
        &self,
        label: &str,
        name: &str,
        hint: &str,
        control: impl Fn(Option<String>, bool) -> Markup,
    ) -> Markup {
        let mistakes = self.mistakes_of(name);
        let wrong = !mistakes.is_empty();
        let ids = [
            wrong.then(|| format!("{name}-wrong")),
            (!hint.is_empty()).then(|| format!("{name}-hint")),
        ];
        let described: Vec<String> = ids.into_iter().flatten().collect();
        let described = (!described.is_empty()).then(|| described.join(" "));
        html! {
            div.field {
                label for=(name) { (label) }
                @if !hint.is_empty() { small #{ (name) "-hint" } { (hint) } }
                (self.wrong(name))
                (control(described, wrong))
            }
        }
    }
}

/// What is wrong with a form, in front of it: the reader of a screen begins here, and finds a
/// way to each field.
pub fn summary(problem: &Problem) -> Markup {
    html! {
        section.notice.bad role="alert" tabindex="-1" autofocus {
            p { (problem.why.join(" ")) " " strong { (problem.remedy) } }
            @if !problem.mistakes.is_empty() {
                ul {
                    @for Mistake { field, text } in &problem.mistakes { li { a href={ "#" (field) } { (text) } } }
                }
            }
        }
    }
}

/// A line of text to fill in.
pub fn input(
    filled: Filled<'_>,
    label: &str,
    name: &str,
    kind: &str,
    complete: &str,
    value: &str,
    hint: &str,
) -> Markup {
    filled.field(label, name, hint, |described, wrong| {
        html! {
            input #(name) name=(name) type=(kind) autocomplete=(complete) value=(value)
                aria-describedby=[described] aria-invalid=[wrong.then_some("true")];
        }
    })
}

/// A hidden field.
pub fn hidden(name: &str, value: impl maud::Render) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}
