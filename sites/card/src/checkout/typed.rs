//! What a customer has typed, and what is wrong with it.

use axum::extract::{FromRequest, Request};
use zeroize::Zeroizing;

use crate::app::App;
use crate::details::{Card, Cvc, Expiry};
use crate::issuer::{DeclineCode, TEST_CARDS_ONLY};
use crate::number::{Brand, CardNumber};
use tidegate_sitekit::web::body;

/// Most bytes of a form.
const LARGEST: usize = 4 * 1024;
/// Most characters of an expiry that are shown again.
const LONGEST_EXPIRY: usize = 10;

/// The fields of the card form. Number and security code are never shown again.
#[derive(Default)]
pub struct Typed {
    number: Zeroizing<String>,
    cvc: Zeroizing<String>,
    /// The expiry, which is shown again.
    pub expiry: String,
}

impl FromRequest<App> for Typed {
    type Rejection = std::convert::Infallible;

    /// A form that cannot be read is an empty one: its fields are missing.
    async fn from_request(request: Request, _: &App) -> Result<Self, Self::Rejection> {
        Ok(match body::collect(request.into_body(), LARGEST).await {
            Ok(body) => Self::parse(&Zeroizing::new(Vec::from(body))),
            Err(_) => Self::default(),
        })
    }
}

impl Typed {
    fn parse(body: &[u8]) -> Self {
        let mut typed = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            let value = Zeroizing::new(value.into_owned());
            match &*name {
                "number" => typed.number = value,
                "cvc" => typed.cvc = value,
                // What is longer is no expiry and may be a card number.
                "expiry" if value.len() <= LONGEST_EXPIRY => typed.expiry = value.to_string(),
                _ => {}
            }
        }
        typed
    }

    /// The card, if there is nothing wrong with it in itself.
    ///
    /// # Errors
    /// All mistakes at once.
    pub fn card(&self) -> Result<Card, Mistakes> {
        let number = CardNumber::parse(&self.number);
        let expiry = Expiry::parse(&self.expiry);
        let brand = number.as_ref().map_or(Brand::Other, CardNumber::brand);
        let cvc = match (&number, Cvc::parse(&self.cvc, brand)) {
            // Without a number the length of the code is not known.
            (Err(_), _) if !self.cvc.trim().is_empty() => None,
            (_, cvc) => Some(cvc),
        };
        match (number, expiry, cvc) {
            (Ok(number), Ok(expiry), Some(Ok(cvc))) => Ok(Card { number, expiry, cvc }),
            (number, expiry, cvc) => Err(Mistakes {
                form: None,
                number: number.err().map(|mistake| mistake.message()),
                expiry: expiry.err(),
                cvc: cvc.and_then(Result::err),
            }),
        }
    }
}

/// What is wrong, by field.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mistakes {
    /// With no field in particular.
    pub form: Option<&'static str>,
    /// With the number.
    pub number: Option<&'static str>,
    /// With the expiry.
    pub expiry: Option<&'static str>,
    /// With the security code.
    pub cvc: Option<&'static str>,
}

impl Mistakes {
    /// The issuer has declined.
    pub fn declined(code: DeclineCode) -> Self {
        let message = Some(code.message());
        match code.field() {
            "cvc" => Self { cvc: message, ..Self::default() },
            "expiry" => Self { expiry: message, ..Self::default() },
            _ => Self { number: message, ..Self::default() },
        }
    }

    /// The issuer could not be asked.
    pub fn failed() -> Self {
        let text =
            "Your bank could not be asked just now. Nothing was charged: send the card again.";
        Self { form: Some(text), ..Self::default() }
    }

    /// The card is no test card.
    pub fn no_test_card() -> Self {
        Self { number: Some(TEST_CARDS_ONLY), ..Self::default() }
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(body: &str) -> Mistakes {
        Typed::parse(body.as_bytes()).card().err().unwrap_or_default()
    }

    #[test]
    fn all_mistakes_are_named_beside_their_fields() {
        assert_eq!(
            mistakes("number=4242+4242+4242+4242&expiry=12%2F40&cvc=123"),
            Mistakes::default()
        );
        let all = mistakes("");
        assert!(all.number.is_some() && all.expiry.is_some() && all.cvc.is_some());
        let two = mistakes("number=4242424242424241&expiry=1240&cvc=123");
        assert!(two.number.is_some() && two.expiry.is_some() && two.cvc.is_none(), "{two:?}");
        // A code of four digits is of a brand.
        assert_eq!(mistakes("number=x&expiry=12/40&cvc=1234").cvc, None);
        assert!(mistakes("number=4242424242424242&expiry=12/40&cvc=1234").cvc.is_some());
        assert_eq!(mistakes("number=378282246310005&expiry=12/40&cvc=1234"), Mistakes::default());
    }

    #[test]
    fn a_card_number_in_the_wrong_field_is_not_shown_again() {
        assert_eq!(Typed::parse(b"expiry=4242424242424242").expiry, "");
        assert_eq!(Typed::parse(b"expiry=04/30").expiry, "04/30");
    }

    #[test]
    fn a_decline_stands_beside_what_is_declined() {
        assert!(Mistakes::declined(DeclineCode::IncorrectCvc).cvc.is_some());
        assert!(Mistakes::declined(DeclineCode::ExpiredCard).expiry.is_some());
        assert!(Mistakes::declined(DeclineCode::StolenCard).number.is_some());
        assert!(Mistakes::failed().any() && !Mistakes::default().any());
    }
}
