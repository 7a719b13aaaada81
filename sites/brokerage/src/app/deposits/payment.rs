//! What the processor tells of a payment, in the words of the brokerage.

use crate::protocol::DepositReason;
use crate::protocol::deposits::back::{SeenPayment, Stage};
use tidegate_card::{
    Brand, Cancellation, CardSummary, Currency, DeclineCode, Payment, Status, is_reference,
    read_url,
};
use tidegate_sitekit::money::Cents;

/// What a payment says.
///
/// # Errors
/// Why the payment is not one of the brokerage's.
pub fn seen(payment: &Payment) -> Result<SeenPayment, String> {
    if payment.currency != Currency::USD {
        return Err(format!("payment {} is not in US dollars", payment.id));
    }
    // No deposit has such a one, and not every database can be asked for it.
    if !is_reference(&payment.reference) {
        return Err(format!("the reference of payment {} is none", payment.id));
    }
    let stage = match payment.status {
        Status::RequiresCard | Status::Processing => {
            let url = payment.checkout_url.clone();
            // It goes into pages.
            read_url(&url).map_err(|rule| format!("the card form of {}: {rule}", payment.id))?;
            Stage::Form(url)
        }
        Status::RequiresCapture => Stage::Authorised,
        Status::Refunded => Stage::Cancelled(DepositReason::Brokerage),
        // What was given back before the brokerage knew of the payment is not the customer's.
        Status::Captured | Status::PartiallyRefunded => Stage::Captured {
            amount: Cents(payment.amount_captured.saturating_sub(payment.amount_refunded)),
            card: payment.card.as_ref().map(card).unwrap_or_default(),
        },
        Status::Declined => Stage::Declined(declined(payment.decline_code)),
        Status::Cancelled => Stage::Cancelled(cancelled(payment.cancellation)),
    };
    let (reference, amount) = (payment.reference.clone(), Cents(payment.amount));
    Ok(SeenPayment { reference, amount, version: payment.version, stage })
}

/// Brand and last four digits.
fn card(card: &CardSummary) -> String {
    let brand = match card.brand {
        Brand::Visa => "Visa",
        Brand::Mastercard => "Mastercard",
        Brand::Amex => "American Express",
        Brand::Discover => "Discover",
        Brand::Other => "card",
    };
    let digits = card.last4.chars().filter(char::is_ascii_digit).take(4);
    format!("{brand} {}", digits.collect::<String>())
}

/// Who holds a stolen card is told no more than that it is declined.
fn declined(code: Option<DeclineCode>) -> DepositReason {
    match code {
        Some(DeclineCode::InsufficientFunds) => DepositReason::Funds,
        Some(DeclineCode::ExpiredCard) => DepositReason::CardExpired,
        Some(DeclineCode::IncorrectCvc) => DepositReason::SecurityCode,
        Some(DeclineCode::GenericDecline | DeclineCode::StolenCard) | None => {
            DepositReason::Declined
        }
    }
}

fn cancelled(cancellation: Option<Cancellation>) -> DepositReason {
    match cancellation {
        Some(Cancellation::Customer) => DepositReason::Customer,
        Some(Cancellation::Abandoned) => DepositReason::NoCard,
        Some(Cancellation::Expired) => DepositReason::Lapsed,
        None => DepositReason::Brokerage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payment(status: Status) -> Payment {
        Payment {
            id: "pay_1".into(),
            reference: "deposit-1".into(),
            amount: 5000,
            currency: Currency::USD,
            status,
            amount_capturable: 0,
            amount_captured: 4000,
            amount_refunded: 0,
            description: String::new(),
            card: Some(CardSummary {
                brand: Brand::Amex,
                last4: "00054242424242".into(),
                exp_month: 12,
                exp_year: 2099,
                fingerprint: "f".into(),
            }),
            decline_code: Some(DeclineCode::StolenCard),
            cancellation: Some(Cancellation::Abandoned),
            checkout_url: "https://card.example/checkout/1".into(),
            return_url: "https://broker.example/".into(),
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
        let captured =
            || Stage::Captured { amount: Cents(4000), card: "American Express 0005".into() };
        for (status, stage) in [
            (Status::RequiresCard, form()),
            (Status::Processing, form()),
            (Status::RequiresCapture, Stage::Authorised),
            (Status::Captured, captured()),
            (Status::PartiallyRefunded, captured()),
            (Status::Refunded, Stage::Cancelled(DepositReason::Brokerage)),
            (Status::Declined, Stage::Declined(DepositReason::Declined)),
            (Status::Cancelled, Stage::Cancelled(DepositReason::NoCard)),
        ] {
            let seen = seen(&payment(status)).unwrap();
            assert_eq!((seen.stage, seen.version), (stage, 3), "{status:?}");
            assert_eq!((seen.reference.as_str(), seen.amount), ("deposit-1", Cents(5000)));
        }
    }

    #[test]
    fn a_reference_that_no_database_need_hold_is_refused() {
        for reference in ["", "deposit-\0", "deposit 1", "deposit\n"] {
            let hostile = Payment { reference: reference.into(), ..payment(Status::Captured) };
            assert!(seen(&hostile).unwrap_err().contains("reference"), "{reference:?}");
        }
    }

    #[test]
    fn what_was_given_back_before_is_not_credited() {
        let refunded = Payment { amount_refunded: 1500, ..payment(Status::PartiallyRefunded) };
        let Stage::Captured { amount, .. } = seen(&refunded).unwrap().stage else { panic!() };
        assert_eq!(amount, Cents(2500));
    }

    #[test]
    fn another_currency_and_an_address_that_no_page_may_have_are_refused() {
        let euro = Currency::of_code("EUR").unwrap();
        let other = Payment { currency: euro, ..payment(Status::Captured) };
        assert!(seen(&other).unwrap_err().contains("US dollars"));
        for url in ["", "javascript:alert(1)", "http://card.example/checkout/1"] {
            let checkout_url = url.to_owned();
            let hostile = Payment { checkout_url, ..payment(Status::RequiresCard) };
            assert!(seen(&hostile).unwrap_err().contains("card form"), "{url}");
        }
    }
}
