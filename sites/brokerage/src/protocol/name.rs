//! Names that clients give to what they send, so that it is accepted once.

use serde::{Deserialize, Serialize};

use tidegate_card::looks_like_card;

/// Makes types of names.
macro_rules! names {
    ($($(#[$doc:meta])+ $name:ident, $of:literal;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(try_from = "String", into = "String")]
            pub struct $name(String);

            impl $name {
                /// A new one.
                pub fn random() -> Self {
                    Self(name_of(rand::random()))
                }

                /// As text.
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl TryFrom<String> for $name {
                type Error = String;

                fn try_from(text: String) -> Result<Self, String> {
                    let rule = concat!(
                        "the name of ", $of,
                        " must be 8 to 64 letters, digits, - and _, and hold no card number"
                    );
                    if is_name(&text) { Ok(Self(text)) } else { Err(rule.into()) }
                }
            }

            impl From<$name> for String {
                fn from(name: $name) -> Self {
                    name.0
                }
            }
        )+
    };
}
names! {
    /// The name that the client gives to an order, so that it is accepted once however often
    /// it is sent: 8 to 64 letters, digits, `-` and `_`, unique for the customer. It is stored,
    /// so one that looks like a card number is refused.
    OrderId, "an order";
    /// The same for a deposit.
    DepositId, "a deposit";
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (8..=64).contains(&text.len()) && text.bytes().all(plain) && !looks_like_card(text)
}

/// Its groups are short: some random names would hold as many digits in a row as a card number.
fn name_of(random: u128) -> String {
    let [a, b, c, d] = [96, 64, 32, 0].map(|shift| (random >> shift) as u32);
    format!("{a:08x}_{b:08x}_{c:08x}_{d:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_order_is_short_and_plain_and_two_are_never_the_same() {
        assert_ne!(OrderId::random(), OrderId::random());
        let read = |text: &str| serde_json::from_value::<OrderId>(text.into()).is_ok();
        assert!(read(OrderId::random().as_str()) && read("a-b_c-12"));
        let long = "x".repeat(65);
        for text in ["", "short", "with space", "quote'quote", &long, "ümlaut-ümlaut"] {
            assert!(!read(text), "{text}");
            assert!(DepositId::try_from(text.to_owned()).unwrap_err().contains("a deposit"));
        }
    }

    #[test]
    fn a_name_that_looks_like_a_card_number_is_refused() {
        for text in [
            "5555555555554444",
            "5555-5555-5555-4444",
            "order_4242424242424242",
            "order-1-4242424242424242",
        ] {
            for error in [
                OrderId::try_from(text.to_owned()).unwrap_err(),
                DepositId::try_from(text.to_owned()).unwrap_err(),
            ] {
                assert!(error.contains("hold no card number"), "{error}");
                assert!(!error.contains(text), "it is told nowhere: {error}");
            }
        }
        // A wrong check digit, and too many digits.
        for text in ["5555555555554445", "42424242424242424242424242424242"] {
            assert!(OrderId::try_from(text.to_owned()).is_ok(), "{text}");
        }
    }

    #[test]
    fn no_random_name_looks_like_a_card_number() {
        for random in [
            0x4242_4242_4242_4242_aaaa_aaaa_aaaa_aaaa,
            0xaaaa_aaaa_5555_5555_5555_4444_aaaa_aaaa,
            0xaaaa_aaaa_aaaa_aaaa_a378_2822_4631_0005,
        ] {
            // As 32 digits in a row it would.
            assert!(looks_like_card(&format!("{random:032x}")));
            let name = name_of(random);
            assert!(is_name(&name), "{name}");
        }
        assert_eq!(name_of(0x1234_5678 << 96), "12345678_00000000_00000000_00000000");
    }
}
