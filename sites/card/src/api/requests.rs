//! The fields of requests, and what they must be.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::address;
use crate::amount::{Currency, MOST};
use crate::merchants::Merchant;
use crate::number::looks_like_card;
use crate::operations::Asked;
use crate::resource::{Form, LONGEST_DESCRIPTION, is_reference};
use tidegate_sitekit::Problem;

/// Body of a new payment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    amount: Whole,
    currency: Text,
    reference: Text,
    description: Option<Text>,
    return_url: Text,
}

/// Body of a capture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    amount: Option<Whole>,
    reference: Option<Text>,
    #[serde(rename = "final", default)]
    last: Option<YesOrNo>,
}

/// Body of a refund.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refund {
    amount: Option<Whole>,
    reference: Option<Text>,
}

impl Create {
    /// The payment that is asked for.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(self, merchant: &Merchant) -> Result<Form, Problem> {
        let amount = amount(self.amount)?;
        let Some(currency) = Currency::of_code(&self.currency.0) else {
            let text = "Must be a currency code of ISO 4217, such as USD.";
            return Err(Problem::of_field("currency", "currency_unknown", text));
        };
        let reference = reference(&self.reference.0)?;
        let description = self.description.map_or_else(String::new, |text| text.0);
        let description = description.trim();
        if description.chars().count() > LONGEST_DESCRIPTION
            || description.chars().any(char::is_control)
            || looks_like_card(description)
        {
            let text = "Must be one line of at most 200 characters, without a card number.";
            return Err(Problem::of_field("description", "description_invalid", text));
        }
        let return_url = return_url(&self.return_url.0, merchant)?;
        let description = description.to_owned();
        Ok(Form { amount, currency, reference, description, return_url })
    }
}

impl Capture {
    /// What is asked for, and whether it is the last capture.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(self) -> Result<(Asked, bool), Problem> {
        let last = self.last.is_none_or(|last| last.0);
        Ok((asked(self.amount, self.reference)?, last))
    }
}

impl Refund {
    /// What is asked for.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(self) -> Result<Asked, Problem> {
        asked(self.amount, self.reference)
    }
}

fn asked(given: Option<Whole>, name: Option<Text>) -> Result<Asked, Problem> {
    Ok(Asked {
        amount: given.map(amount).transpose()?,
        reference: name.map_or_else(|| Ok(String::new()), |text| reference(&text.0))?,
    })
}

fn amount(given: Whole) -> Result<i64, Problem> {
    match given.0 {
        ..1 => {
            let text = "Must be at least 1 minor unit of the currency.";
            Err(Problem::of_field("amount", "amount_too_small", text))
        }
        1..=MOST => Ok(given.0),
        _ => {
            let text = format!("Must be at most {MOST} minor units of the currency.");
            Err(Problem::of_field("amount", "amount_too_large", text))
        }
    }
}

fn reference(text: &str) -> Result<String, Problem> {
    if is_reference(text) && !looks_like_card(text) {
        return Ok(text.to_owned());
    }
    let rule = "Must be 1 to 64 letters, digits, and - _ . : / and no card number.";
    Err(Problem::of_field("reference", "reference_invalid", rule))
}

fn return_url(text: &str, merchant: &Merchant) -> Result<String, Problem> {
    let wrong = |code, text: &str| Problem::of_field("return_url", code, text);
    let url = address::read(text)
        .map_err(|rule| wrong("return_url_invalid", &format!("The return URL {rule}.")))?;
    if looks_like_card(text) {
        return Err(wrong("return_url_invalid", "The return URL must hold no card number."));
    }
    if address::is_registered(&url, &merchant.return_urls) {
        return Ok(url.into());
    }
    Err(wrong(
        "return_url_not_registered",
        "Must have scheme, host, port and path of a URL that the processor was started with (--return-url); its query may differ.",
    ))
}

/// A whole number.
struct Whole(i64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfWhole;

        impl Visitor<'_> for OfWhole {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number without quotes, such as 5000")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
                // What does not fit is out of every range as well.
                Ok(Whole(i64::try_from(value).unwrap_or(i64::MAX)))
            }
        }

        deserializer.deserialize_i64(OfWhole)
    }
}

/// A text.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfText;

        impl Visitor<'_> for OfText {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text in quotes")
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Text, E> {
                Ok(Text(value.to_owned()))
            }
        }

        deserializer.deserialize_str(OfText)
    }
}

/// `true` or `false`.
struct YesOrNo(bool);

impl<'de> Deserialize<'de> for YesOrNo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let other = |_| D::Error::invalid_type(Unexpected::Other("it"), &"true or false");
        bool::deserialize(deserializer).map(Self).map_err(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let created: Create = serde_json::from_str(text).unwrap();
        let registered = address::read("https://shop.example/paid").unwrap();
        let merchant = Merchant { return_urls: vec![registered], webhooks: Vec::new() };
        match created.check(&merchant) {
            Ok(_) => "ok".into(),
            Err(problem) => problem.code.into(),
        }
    }

    #[test]
    fn every_field_has_a_rule_and_every_rule_a_code() {
        let good = r#"{"amount":5000,"currency":"usd","reference":"d-1","description":"Deposit",
            "return_url":"https://shop.example/paid"}"#;
        assert_eq!(code(good), "ok");
        for (from, to, expected) in [
            ("5000", "0", "amount_too_small"),
            ("5000", "-1", "amount_too_small"),
            ("5000", "10000000000", "amount_too_large"),
            ("5000", "18446744073709551615", "amount_too_large"),
            ("5000", "9999999999", "ok"),
            ("usd", "xyz", "currency_unknown"),
            ("usd", "", "currency_unknown"),
            ("d-1", "", "reference_invalid"),
            ("d-1", "a b", "reference_invalid"),
            ("Deposit", "two\\nlines", "description_invalid"),
            ("Deposit", "by 5555 5555 5555 4444", "description_invalid"),
            ("d-1", "5555555555554444", "reference_invalid"),
        ] {
            assert_eq!(code(&good.replacen(from, to, 1)), expected, "{from} -> {to}");
        }
    }

    #[test]
    fn a_return_url_must_be_registered() {
        let with = |url: &str| {
            code(&format!(
                r#"{{"amount":1,"currency":"USD","reference":"d","return_url":"{url}"}}"#
            ))
        };
        assert_eq!(with("https://shop.example/paid?order=5"), "ok");
        assert_eq!(with("https://shop.example/other"), "return_url_not_registered");
        assert_eq!(with("https://evil.example/paid"), "return_url_not_registered");
        assert_eq!(with("javascript:alert(1)"), "return_url_invalid");
    }
}
