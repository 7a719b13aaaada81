//! Reads `impatience`.

use std::time::Duration;

use tidegate_config::Preset::{Is, Unset};
use tidegate_config::{Other, Time, Value, Whole, keys};

use super::limits::DAY;
use crate::scenario::impatience::Impatience;

/// The words for `impatience`.
const WORDS: [&str; 3] = ["leave", "come_back", "hammer"];
/// Most attempts, including the first, as in the simulator.
const MOST: i64 = 1000;

keys! {
    /// `impatience` as a table, with one of these.
    pub(super) static IMPATIENCE: ImpatienceKeys {
        /// The customer returns after a back-off with a new session.
        come_back: Other("table", "see below") = Unset;
        /// The customer repeats the request at once on a new connection, within the session.
        hammer: Other("table", "see below") = Unset;
    }

    /// `come_back` of an `impatience`.
    pub(super) static COME_BACK: ComeBackKeys {
        /// Mean of the back-off, negative exponential.
        back_off: Time(Duration::from_millis(1), DAY) = Is("\"2s\"");
        /// Number of sessions, including the first.
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
    let given = (section.read(&IMPATIENCE.come_back), section.read(&IMPATIENCE.hammer));
    let inner = match &given {
        (Some(inner), None) | (None, Some(inner)) => inner.section()?,
        _ => {
            section.wrong(
                "must have either come_back or hammer",
                "write { come_back = { back_off = \"2s\", attempts = 3 } }",
            );
            return None;
        }
    };
    if given.1.is_some() {
        inner.known(&HAMMER);
        return Some(Impatience::Hammer { attempts: inner.read_or(&HAMMER.attempts, 10)? as u32 });
    }
    inner.known(&COME_BACK);
    let back_off = inner.read_or(&COME_BACK.back_off, Duration::from_secs(2));
    let attempts = inner.read_or(&COME_BACK.attempts, 3);
    Some(Impatience::ComeBack { back_off: back_off?, attempts: attempts? as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Impatience, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| read(&root.get("impatience")?))
            .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn impatience_is_read_and_every_mistake_is_told() {
        let good = |text: &str| read_text(&format!("impatience = {text}")).unwrap();
        assert_eq!(good("\"leave\""), Impatience::Leave);
        assert_eq!(good("\"hammer\""), Impatience::Hammer { attempts: 10 });
        assert_eq!(good("{ hammer = { attempts = 2 } }").reloads(), 1);
        let back = good("{ come_back = { back_off = \"250ms\", attempts = 2 } }");
        assert_eq!(back.back_off(1), Some(Duration::from_millis(250)));
        assert_eq!((back.back_off(2), Impatience::Leave.back_off(1)), (None, None));
        assert_eq!(good("{ come_back = {} }"), good("\"come_back\""));
        for (bad, said) in [
            ("\"stay\"", "impatience: = \"stay\" is not known; must be one of leave, come_back"),
            ("{}", "impatience: must have either come_back or hammer; write"),
            ("{ hammer = { attempts = 1 } }", "impatience.hammer.attempts: = 1 must be 2 to 1000"),
            (
                "{ come_back = { back_off = \"0s\" } }",
                "impatience.come_back.back_off: = \"0s\" must",
            ),
            (
                "{ come_back = { after = \"2s\" } }",
                "impatience.come_back.after: is not a known key",
            ),
        ] {
            let told = read_text(&format!("impatience = {bad}")).unwrap_err();
            let said = format!("shop.toml:1: {said}");
            assert!(told[0].starts_with(&said), "{said}\n{told:?}");
        }
    }
}
