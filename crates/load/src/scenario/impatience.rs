//! What customers do who were turned away or have waited too long.

use std::time::Duration;

use tidegate_toml::Value;

use super::check::DAY;

/// Attempts, the first among them, in the simulator's words and range.
const ATTEMPTS: std::ops::RangeInclusive<i64> = 2..=1000;

/// What a customer does who was turned away or has waited too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Impatience {
    /// Leaves for good.
    #[default]
    Leave,
    /// Begins anew as a new session, after a back-off.
    ComeBack {
        /// Mean of the negative exponential time away.
        back_off: Duration,
        /// Sessions in all, the first among them.
        attempts: u32,
    },
    /// Sends the request that took too long again at once, on a new connection.
    Hammer {
        /// Times that a request is sent, the first among them.
        attempts: u32,
    },
}

impl Impatience {
    /// Two seconds, and three attempts.
    pub const COME_BACK: Self = Self::ComeBack { back_off: Duration::from_secs(2), attempts: 3 };
    /// Ten attempts.
    pub const HAMMER: Self = Self::Hammer { attempts: 10 };

    /// The mean time away before the next session, if there is one after so many.
    pub(crate) fn back_off(self, sessions: u32) -> Option<Duration> {
        match self {
            Self::ComeBack { back_off, attempts } if sessions < attempts => Some(back_off),
            _ => None,
        }
    }

    /// How often a request that took too long is sent again.
    pub(crate) fn reloads(self) -> u32 {
        match self {
            Self::Hammer { attempts } => attempts - 1,
            _ => 0,
        }
    }
}

pub(super) fn read(value: &Value<'_>) -> Option<Impatience> {
    const WORDS: [&str; 3] = ["leave", "come_back", "hammer"];
    const ALL: [Impatience; 3] = [Impatience::Leave, Impatience::COME_BACK, Impatience::HAMMER];
    if value.is_str() {
        return Some(ALL[value.choice(&WORDS)?]);
    }
    let section = value.section()?;
    section.only(&WORDS[1..]);
    let given = (section.get("come_back"), section.get("hammer"));
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
    // Nothing given is the default; something wrong is no impatience.
    let attempts = |default| match inner.get("attempts") {
        Some(value) => value.integer(ATTEMPTS).map(|n| n as u32),
        None => Some(default),
    };
    if given.1.is_some() {
        inner.only(&["attempts"]);
        return Some(Impatience::Hammer { attempts: attempts(10)? });
    }
    inner.only(&["back_off", "attempts"]);
    let back_off = match inner.get("back_off") {
        Some(value) => value.duration(Duration::from_millis(1)..=DAY),
        None => Some(Duration::from_secs(2)),
    };
    let attempts = attempts(3);
    Some(Impatience::ComeBack { back_off: back_off?, attempts: attempts? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Impatience, Vec<String>> {
        tidegate_toml::read(text, "shop.toml", |root| read(&root.get("impatience")?))
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
