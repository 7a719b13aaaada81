//! Whether the service has closed the line: its last word, which another process or the other gates
//! of a fleet take over.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// For how long the service closes the line without saying so: each response that closes it begins
/// this time anew, so it ends only where the service says nothing more, for example because no
/// session is left that could hear of its opening.
pub const CLOSED_FOR: Duration = Duration::from_hours(1);
/// The longest time for which the line can be closed at once.
const LONGEST: Duration = Duration::from_hours(24);
/// Other gates need not know of smaller changes of the end, in milliseconds.
const MATTERS_MS: u64 = 1_000;

/// What the service said last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// When it said so, in milliseconds since 1970.
    pub said_ms: u64,
    /// Until when nobody new is admitted, in milliseconds since 1970.
    pub until_ms: u64,
}

/// The last word, and what the other gates know of it.
#[derive(Debug, Default)]
pub(super) struct LastWord {
    pub(super) closing: Closing,
    told: Closing,
}

impl LastWord {
    /// The service closes the line for so long; for no time: it opens it.
    pub(super) fn say(&mut self, time: Duration, now_ms: u64) {
        let until_ms = now_ms + time.min(LONGEST).as_millis() as u64;
        self.closing = Closing { said_ms: now_ms, until_ms };
    }

    /// What the other gates should be told now.
    pub(super) fn take_untold(&mut self, now_ms: u64) -> Option<Closing> {
        // An end that has passed is as good as any other.
        let end = |of: Closing| if of.until_ms > now_ms { of.until_ms } else { 0 };
        let matters = end(self.closing).abs_diff(end(self.told)) >= MATTERS_MS;
        matters.then(|| {
            self.told = self.closing;
            self.closing
        })
    }

    /// What another gate was told. The later word holds, and of two of the same millisecond the one
    /// that closes for longer: so all gates come to the same.
    pub(super) fn hear(&mut self, word: Closing, now_ms: u64) {
        let order = |of: Closing| (of.said_ms, of.until_ms);
        if order(word) > order(self.closing) {
            let longest = now_ms + LONGEST.as_millis() as u64;
            self.closing =
                Closing { said_ms: word.said_ms.min(now_ms), until_ms: word.until_ms.min(longest) };
            self.told = self.closing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn other_gates_are_told_what_changes_and_the_later_word_holds_at_all() {
        let (mut here, mut there) = (LastWord::default(), LastWord::default());
        here.say(MINUTE, 10_000);
        let closed = here.take_untold(10_000).unwrap();
        assert_eq!(closed, Closing { said_ms: 10_000, until_ms: 70_000 });
        here.say(MINUTE, 10_500);
        assert_eq!(here.take_untold(10_500), None, "half a second more");
        there.hear(closed, 10_200);
        assert_eq!(
            (there.closing, there.take_untold(10_200)),
            (closed, None),
            "told by nobody twice"
        );
        there.say(Duration::ZERO, 11_000);
        // An older word crosses it on its way.
        there.hear(Closing { said_ms: 10_900, until_ms: 90_000 }, 11_100);
        let opened = there.take_untold(11_200).unwrap();
        here.hear(opened, 11_300);
        assert!(here.closing.until_ms <= 11_300 && there.closing.until_ms <= 11_300);
        here.say(Duration::ZERO, 12_000);
        assert_eq!(here.take_untold(12_000), None, "it is open as it was");
    }

    #[test]
    fn of_two_words_of_one_millisecond_all_gates_hold_the_same() {
        let (mut here, mut there) = (LastWord::default(), LastWord::default());
        here.say(MINUTE, 10_000);
        there.say(Duration::ZERO, 10_000);
        let words = (here.closing, there.closing);
        here.hear(words.1, 10_100);
        there.hear(words.0, 10_100);
        assert_eq!(here.closing, there.closing);
    }

    #[test]
    fn nothing_closes_the_line_for_more_than_a_day() {
        let (mut word, day_ms) = (LastWord::default(), 86_400_000);
        word.say(Duration::MAX, 1_000);
        assert_eq!(word.closing.until_ms, 1_000 + day_ms);
        word.hear(Closing { said_ms: u64::MAX, until_ms: u64::MAX }, 2_000);
        assert_eq!(word.closing, Closing { said_ms: 2_000, until_ms: 2_000 + day_ms });
    }
}
