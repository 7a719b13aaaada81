//! Reads `impatience`.

use super::Refuse;
use tidegate_config::Preset::{Is, Unset};
use tidegate_config::{Other, Time, Value, Whole, keys};

use crate::scenario::impatience::Impatience;

/// The reactions that need no further keys.
const WORDS: [&str; 3] = ["leave", "come_back", "hammer"];
/// Most attempts, the first among them, in the simulator's words and range.
const MOST: i64 = 1000;

keys! {
    /// `impatience` as a table, with one of these keys.
    pub(super) static IMPATIENCE: ImpatienceKeys {
        /// The customer starts a new session after a back-off.
        come_back: Other("table", "see below") = Unset;
        /// The customer sends the request again at once on a new connection, in the same session.
        hammer: Other("table", "see below") = Unset;
    }

    /// `come_back` of an `impatience`.
    pub(super) static COME_BACK: ComeBackKeys {
        /// Mean of the exponentially distributed time until the new session.
        back_off: Time("1ms", "24h") = Is("2s");
        /// Sessions in all, including the first.
        attempts: Whole(2, MOST) = Is("3");
    }

    /// `hammer` of an `impatience`.
    pub(super) static HAMMER: HammerKeys {
        /// How often a request is sent, including the first time.
        attempts: Whole(2, MOST) = Is("10");
    }
}

pub(super) fn read(value: &Value<'_>) -> Option<Impatience> {
    const ALL: [Impatience; 3] = [Impatience::Leave, Impatience::COME_BACK, Impatience::HAMMER];
    if value.is_str() {
        return Some(ALL[value.choice(&WORDS)?]);
    }
    let section = value.section()?;
    section.known(&IMPATIENCE);
    let given = (section.given(&IMPATIENCE.come_back), section.given(&IMPATIENCE.hammer));
    let inner = match &given {
        (Some(inner), None) | (None, Some(inner)) => inner.section()?,
        _ => {
            return section.refuse(
                "must have either come_back or hammer",
                "write { come_back = { back_off = \"2s\", attempts = 3 } }",
            );
        }
    };
    if given.1.is_some() {
        inner.known(&HAMMER);
        return Some(Impatience::Hammer { attempts: inner.read(&HAMMER.attempts)? as u32 });
    }
    inner.known(&COME_BACK);
    let back_off = inner.read(&COME_BACK.back_off);
    let attempts = inner.read(&COME_BACK.attempts);
    Some(Impatience::ComeBack { back_off: back_off?, attempts: attempts? as u32 })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read_text(text: &str) -> Result<Impatience, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| read(&root.get("impatience")?))
            .map_err(|mistakes| mistakes.lines())
    }

    #[test]
    fn impatience_is_read_and_every_mistake_is_reported() {
        let good = |text: &str| read_text(&format!("impatience = {text}")).unwrap();
        assert_eq!(good("\"leave\""), Impatience::Leave);
        assert_eq!(good("\"hammer\""), Impatience::Hammer { attempts: 10 });
        assert_eq!(good("{ hammer = { attempts = 2 } }").reloads(), 1);
        let back = good("{ come_back = { back_off = \"250ms\", attempts = 2 } }");
        assert_eq!(back.back_off(1), Some(Duration::from_millis(250)));
        assert_eq!((back.back_off(2), Impatience::Leave.back_off(1)), (None, None));
        assert_eq!(good("{ come_back = {} }"), good("\"come_back\""));
        for (bad, expected) in [
            ("\"stay\"", "impatience = \"stay\": must be one of leave, come_back, hammer; try"),
            ("{}", "impatience: must have either come_back or hammer; write"),
            (
                "{ hammer = { attempts = 1 } }",
                "impatience.hammer.attempts = 1: must be a whole number of 2 to 1000",
            ),
            (
                "{ come_back = { back_off = \"0s\" } }",
                "impatience.come_back.back_off = \"0s\": must",
            ),
            (
                "{ come_back = { after = \"2s\" } }",
                "impatience.come_back.after = \"2s\": is not a known key",
            ),
        ] {
            let found = read_text(&format!("impatience = {bad}")).unwrap_err();
            let expected = format!("shop.toml:1: {expected}");
            assert!(found[0].starts_with(&expected), "{expected}\n{found:?}");
        }
    }
}
