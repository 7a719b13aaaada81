//! A scanner for the two things that decide a customer's next request: links
//! and forms. One pass, linear in the length of the page, no tree, nothing
//! recursive: a hostile page costs no more than an honest one.

use std::borrow::Cow;

use crate::html::scan::{Scanner, Tag};

/// Most links looked at on one page.
const LINKS: usize = 5000;
/// Most forms, fields of a form and choices of a field.
const FORMS: usize = 500;
const FIELDS: usize = 300;
const CHOICES: usize = 500;

/// Calls `found` for the address of each link, entities resolved.
pub(crate) fn links<'h>(html: &'h [u8], mut found: impl FnMut(Cow<'h, str>)) {
    let mut scanner = Scanner::new(html);
    let mut seen = 0;
    while let Some(tag) = scanner.next() {
        if (tag.is("a") || tag.is("area"))
            && let Some(href) = tag.attribute("href")
        {
            found(href);
            seen += 1;
            if seen == LINKS {
                return;
            }
        }
    }
}

/// A form as the page has it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Form {
    /// Address it is sent to; empty for the page itself.
    pub(crate) action: String,
    /// By POST, else by GET.
    pub(crate) post: bool,
    /// As `multipart/form-data`, where it is sent by POST.
    pub(crate) multipart: bool,
    /// Its fields in order.
    pub(crate) fields: Vec<Field>,
}

/// One field of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: FieldKind,
    pub(crate) value: String,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Most characters (`maxlength`).
    pub(crate) longest: Option<usize>,
    /// Options of a select, values of the radio buttons of one name.
    pub(crate) choices: Vec<String>,
}

/// What a field is, as far as filling it in goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldKind {
    #[default]
    Text,
    Hidden,
    Number,
    Email,
    Choice,
    Checked,
    /// A file input, without a file.
    File,
    Submit,
}

/// The forms of a page whose action `wanted` likes.
pub(crate) fn forms(html: &[u8], mut wanted: impl FnMut(&str) -> bool) -> Vec<Form> {
    let mut scanner = Scanner::new(html);
    let mut forms: Vec<Form> = Vec::new();
    let mut open: Option<Form> = None;
    let mut in_select = false;
    while let Some(tag) = scanner.next() {
        if tag.is("form") {
            // Forms do not nest; a new one ends the one before.
            forms.extend(open.take());
            if forms.len() >= FORMS {
                break;
            }
            let action = tag.attribute("action").unwrap_or_default();
            if wanted(&action) {
                let is = |name, value| {
                    tag.attribute(name).is_some_and(|own| own.eq_ignore_ascii_case(value))
                };
                open = Some(Form {
                    action: action.into_owned(),
                    post: is("method", "post"),
                    multipart: is("enctype", "multipart/form-data"),
                    fields: Vec::new(),
                });
            }
        } else if tag.is("/form") {
            forms.extend(open.take());
        } else if let Some(form) = &mut open {
            if tag.is("select") {
                in_select = push(form, Field { kind: FieldKind::Choice, ..named(&tag) });
            } else if tag.is("/select") {
                in_select = false;
            } else if tag.is("option") && in_select {
                let text = tag.attribute("value").unwrap_or_else(|| scanner.text());
                let choices = &mut form.fields.last_mut().expect("the select is the last").choices;
                let placeholder = tag.attribute("disabled").is_some();
                if choices.len() < CHOICES && !placeholder {
                    choices.push(text.into_owned());
                }
            } else if tag.is("textarea") {
                in_select = false;
                let value = scanner.text().into_owned();
                push(form, Field { value, ..named(&tag) });
            } else if tag.is("input") {
                in_select = false;
                input(form, &tag);
            } else if tag.is("button") {
                in_select = false;
                let kind = tag.attribute("type");
                if kind.is_none_or(|kind| kind.eq_ignore_ascii_case("submit")) {
                    submit(form, &tag);
                }
            }
        }
    }
    forms.extend(open);
    forms
}

fn named(tag: &Tag<'_>) -> Field {
    let text = |name| tag.attribute(name).map(Cow::into_owned);
    let number = |name| tag.attribute(name).and_then(|v| v.trim().parse().ok());
    let finite = |number: Option<f64>| number.filter(|n: &f64| n.is_finite());
    Field {
        name: text("name").unwrap_or_default(),
        value: text("value").unwrap_or_default(),
        min: finite(number("min")),
        max: finite(number("max")),
        longest: tag.attribute("maxlength").and_then(|v| v.trim().parse().ok()),
        ..Field::default()
    }
}

/// Adds a field that has a name; returns whether it did.
fn push(form: &mut Form, field: Field) -> bool {
    let fits = !field.name.is_empty() && form.fields.len() < FIELDS;
    if fits {
        form.fields.push(field);
    }
    fits
}

fn input(form: &mut Form, tag: &Tag<'_>) {
    if tag.attribute("disabled").is_some() {
        return;
    }
    let kind = tag.attribute("type").unwrap_or_default().to_ascii_lowercase();
    let kind = match kind.as_str() {
        "hidden" => FieldKind::Hidden,
        "number" | "range" => FieldKind::Number,
        "email" => FieldKind::Email,
        "submit" | "image" => return submit(form, tag),
        "file" => FieldKind::File,
        "button" | "reset" => return,
        "checkbox" if tag.attribute("checked").is_none() => return,
        "checkbox" => FieldKind::Checked,
        "radio" => {
            let field = named(tag);
            let same =
                |other: &&mut Field| other.kind == FieldKind::Choice && other.name == field.name;
            if let Some(group) = form.fields.iter_mut().find(same) {
                if group.choices.len() < CHOICES {
                    group.choices.push(field.value);
                }
            } else {
                let choices = vec![field.value.clone()];
                push(form, Field { kind: FieldKind::Choice, choices, ..field });
            }
            return;
        }
        _ => FieldKind::Text,
    };
    push(form, Field { kind, ..named(tag) });
}

/// All buttons that send the form become the choices of one field each name.
fn submit(form: &mut Form, tag: &Tag<'_>) {
    let field = named(tag);
    let same = |other: &&mut Field| other.kind == FieldKind::Submit;
    match form.fields.iter_mut().find(same) {
        Some(group) if group.name == field.name && group.choices.len() < CHOICES => {
            group.choices.push(field.value);
        }
        Some(_) => {}
        None => {
            let choices = vec![field.value.clone()];
            push(form, Field { kind: FieldKind::Submit, choices, ..field });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_links(html: &str) -> Vec<String> {
        let mut found = Vec::new();
        links(html.as_bytes(), |href| found.push(href.into_owned()));
        found
    }

    #[test]
    fn links_are_found_in_every_way_of_writing_them() {
        let html = r#"<A class=x HREF='/one'>1</a> <a href = "/two?a=1&amp;b=2">2</a>
            <a href=/three>3</a><a title="a > b" href="/four">4</a><area href=/five /><a title=don't href=/six>6</a>
            <a name=top>no</a>"#;
        assert_eq!(all_links(html), ["/one", "/two?a=1&b=2", "/three", "/four", "/five", "/six"]);
    }

    #[test]
    fn comments_scripts_and_styles_hold_no_links() {
        let html = r#"<!-- <a href=/no> --><script>"<a href='/no'>"</script>
            <style><a href=/no></style><a href=/yes>y</a>"#;
        assert_eq!(all_links(html), ["/yes"]);
    }

    #[test]
    fn a_form_has_its_fields_choices_and_buttons() {
        let html = r#"<form action=/skip><input name=x></form>
            <form action="/items/7/bids" method="POST">
            <input type=hidden name=auth value="a&quot;b"><input type=number name=bid min=10.5 max=99>
            <select name=region><option value=1>one<option>two</select>
            <input type=radio name=rating value=1><input type=radio name=rating value=5>
            <input type=checkbox name=off value=1><input type=checkbox name=on value=1 checked>
            <textarea name=comment> so </textarea>
            <button name=category value=3>3</button><button name=category value=4>4</button>
            <button type=button name=no>x</button></form>"#;
        let found = forms(html.as_bytes(), |action| action.starts_with("/items"));
        assert_eq!(found.len(), 1);
        let form = &found[0];
        assert!(form.post);
        let names: Vec<_> = form.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["auth", "bid", "region", "rating", "on", "comment", "category"]);
        assert_eq!(form.fields[0].value, "a\"b");
        assert_eq!((form.fields[1].min, form.fields[1].max), (Some(10.5), Some(99.0)));
        assert_eq!(form.fields[2].choices, ["1", "two"]);
        assert_eq!(form.fields[3].choices, ["1", "5"]);
        assert_eq!(form.fields[5].value, "so");
        assert_eq!(form.fields[6].choices, ["3", "4"]);
    }

    #[test]
    fn a_form_may_be_multipart_and_have_files() {
        let html = "<form method=post enctype='Multipart/Form-Data'><input name=t>\
                    <input type=file name=photo value=x></form><form enctype=text/plain></form>";
        let found = forms(html.as_bytes(), |_| true);
        assert_eq!(found.iter().map(|form| form.multipart).collect::<Vec<_>>(), [true, false]);
        let kinds: Vec<_> = found[0].fields.iter().map(|field| field.kind).collect();
        assert_eq!(kinds, [FieldKind::Text, FieldKind::File]);
    }

    #[test]
    fn broken_pages_end_quietly() {
        for html in [
            "<",
            "<a",
            "<a href=",
            "<a href=\"",
            "<!--",
            "<a =",
            "<form><select><option",
            "<a href='x",
        ] {
            all_links(html);
            forms(html.as_bytes(), |_| true);
        }
        assert_eq!(all_links("<a href=\"&#x110000;&bogus;&\">"), ["&#x110000;&bogus;&"]);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            html in proptest::collection::vec(
                proptest::sample::select(b"<>/=\"' !-&;#xaform selectoptioninputhrefname\xff".to_vec()),
                0..200,
            )
        ) {
            links(&html, |_| ());
            forms(&html, |_| true);
        }
    }
}
