//! Form fields, each with its label and constraints.

use maud::{Markup, html};

use tidegate_sitekit::money::Cents;

/// A line of text of `length` characters.
pub fn text(label: &str, name: &str, length: (usize, usize), hint: &str) -> Markup {
    input(label, name, "text", length, "on", hint)
}

/// A mail address.
pub fn email(label: &str, name: &str) -> Markup {
    input(label, name, "email", (3, 50), "email", "")
}

/// The two fields to sign in.
pub fn sign_in() -> Markup {
    html! {
        (input("Nickname", "nickname", "text", (1, 32), "username", ""))
        (input("Password", "password", "password", (1, 128), "current-password", ""))
    }
}

/// Words to search for.
pub fn keywords(label: &str, name: &str, most: usize, value: &str) -> Markup {
    html! {
        label.field for=(name) {
            span { (label) }
            input #(name) name=(name) type="search" maxlength=(most) value=(value);
        }
    }
}

/// A new password.
pub fn new_password(label: &str, name: &str) -> Markup {
    input(label, name, "password", (8, 128), "new-password", "8 characters or more")
}

fn input(
    label: &str,
    name: &str,
    kind: &str,
    (least, most): (usize, usize),
    complete: &str,
    hint: &str,
) -> Markup {
    html! {
        label.field for=(name) {
            span { (label) }
            input #(name) name=(name) type=(kind) minlength=(least) maxlength=(most)
                autocomplete=(complete) required;
            @if !hint.is_empty() { small { (hint) } }
        }
    }
}

/// Several lines of text.
pub fn words(label: &str, name: &str, most: usize, rows: usize) -> Markup {
    html! {
        label.field for=(name) {
            span { (label) }
            textarea #(name) name=(name) rows=(rows) maxlength=(most) required {}
        }
    }
}

/// A whole number from `least` to `most`.
pub fn number(label: &str, name: &str, least: i64, most: i64, value: i64) -> Markup {
    html! {
        label.field.short for=(name) {
            span { (label) }
            input #(name) name=(name) type="number" min=(least) max=(most) step="1" value=(value)
                inputmode="numeric" required;
        }
    }
}

/// An amount from `least` to [`Cents::MOST`].
pub fn money(label: &str, name: &str, least: Cents, hint: &str) -> Markup {
    money_of(label, name, least, least, hint)
}

/// The same, filled with `value`.
pub fn money_of(label: &str, name: &str, least: Cents, value: Cents, hint: &str) -> Markup {
    let required = least > Cents(0);
    html! {
        label.field.short for=(name) {
            span { (label) }
            input #(name) name=(name) type="number" min=(least.plain()) max=(Cents::MOST.plain()) step="0.01"
                value=(value.plain()) inputmode="decimal" required[required];
            @if !hint.is_empty() { small { (hint) } }
        }
    }
}

/// A choice of one value.
pub fn select<'a>(
    label: &str,
    name: &str,
    options: impl Iterator<Item = (i64, &'a str)>,
    chosen: i64,
) -> Markup {
    html! {
        label.field.short for=(name) {
            span { (label) }
            select #(name) name=(name) required {
                @for (value, text) in options {
                    option value=(value) selected[value == chosen] { (text) }
                }
            }
        }
    }
}
