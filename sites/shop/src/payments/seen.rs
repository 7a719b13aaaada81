//! What the processor says of a payment, in the words of the shop.

use crate::store::orders::Reason;
use crate::store::outcome::Stage;
use tidegate_card::{Cancellation, CardSummary, Currency, Payment, Status, read_url};
use tidegate_sitekit::money::Cents;

/// What a payment of this amount says.
///
/// # Errors
/// Why it is not the payment of the order.
pub fn seen(payment: &Payment, amount: Cents) -> Result<Stage, String> {
    if (payment.currency, payment.amount) != (Currency::USD, amount.0) {
        let found = payment.currency.show(payment.amount);
        return Err(format!("payment {} is of {found}, the order of {amount}", payment.id));
    }
    Ok(match payment.status {
        Status::RequiresCard | Status::Processing => {
            let url = payment.checkout_url.clone();
            // It goes into pages.
            read_url(&url).map_err(|rule| format!("the card form of {}: {rule}", payment.id))?;
            Stage::Form(url)
        }
        Status::RequiresCapture => Stage::Authorised,
        Status::Captured => {
            Stage::Captured(payment.card.as_ref().map(card).unwrap_or_else(|| "card".into()))
        }
        Status::PartiallyRefunded | Status::Refunded => Stage::Over(Reason::Refused),
        Status::Declined => Stage::Over(Reason::Declined),
        Status::Cancelled => Stage::Over(match payment.cancellation {
            Some(Cancellation::Customer) => Reason::Customer,
            Some(Cancellation::Abandoned | Cancellation::Expired) => Reason::NoCard,
            None => Reason::Refused,
        }),
    })
}

/// Brand and last four digits.
fn card(card: &CardSummary) -> String {
    let digits: String = card.last4.chars().filter(char::is_ascii_digit).take(4).collect();
    format!("{:?}, ending in {digits}", card.brand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_card::Brand;

    fn payment(status: Status) -> Payment {
        Payment {
            id: "pay_1".into(),
            reference: "order-1".into(),
            amount: 5000,
            currency: Currency::USD,
            status,
            amount_capturable: 0,
            amount_captured: 5000,
            amount_refunded: 0,
            description: String::new(),
            card: Some(CardSummary {
                brand: Brand::Visa,
                last4: "42424242".into(),
                exp_month: 12,
                exp_year: 2099,
                fingerprint: "f".into(),
            }),
            decline_code: None,
            cancellation: Some(Cancellation::Abandoned),
            checkout_url: "https://card.example/checkout/1".into(),
            return_url: "https://shop.example/".into(),
            captures: Vec::new(),
            refunds: Vec::new(),
            version: 3,
            created_ms: 1,
            expires_ms: None,
        }
    }

    #[test]
    fn every_status_has_its_stage() {
        let form = || Stage::Form("https://card.example/checkout/1".into());
        for (status, stage) in [
            (Status::RequiresCard, form()),
            (Status::Processing, form()),
            (Status::RequiresCapture, Stage::Authorised),
            (Status::Captured, Stage::Captured("Visa, ending in 4242".into())),
            (Status::Refunded, Stage::Over(Reason::Refused)),
            (Status::Declined, Stage::Over(Reason::Declined)),
            (Status::Cancelled, Stage::Over(Reason::NoCard)),
        ] {
            assert_eq!(seen(&payment(status), Cents(5000)), Ok(stage), "{status:?}");
        }
    }

    #[test]
    fn another_amount_currency_or_address_is_not_that_of_the_order() {
        let captured = payment(Status::Captured);
        assert!(seen(&captured, Cents(5001)).unwrap_err().contains("of 50.00 USD, the order"));
        let euro = Currency::of_code("EUR").unwrap();
        let other = Payment { currency: euro, ..captured };
        assert!(seen(&other, Cents(5000)).is_err());
        for url in ["", "javascript:alert(1)", "http://card.example/checkout/1"] {
            let hostile = Payment { checkout_url: url.into(), ..payment(Status::RequiresCard) };
            assert!(seen(&hostile, Cents(5000)).unwrap_err().contains("card form"), "{url}");
        }
    }
}
