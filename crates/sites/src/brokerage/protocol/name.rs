//! Names that clients give to what they send, so that it is accepted once.

use serde::{Deserialize, Serialize};

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
                    Self(format!("{:032x}", rand::random::<u128>()))
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
                        "the name of ", $of, " must be 8 to 64 letters, digits, - and _"
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
    /// it is sent: 8 to 64 letters, digits, `-` and `_`, unique for the customer.
    OrderId, "an order";
    /// The same for a deposit.
    DepositId, "a deposit";
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (8..=64).contains(&text.len()) && text.bytes().all(plain)
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
}
