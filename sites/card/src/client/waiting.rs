//! The page on which a customer waits for a payment. It leads to the card form and looks again by
//! itself, by the header field `Refresh` and without a script.

use url::form_urlencoded;

/// How often a page looks again by itself: about two minutes. A page that is forgotten must not
/// keep its session alive.
const LOOKS: u32 = 30;
/// So many times it looks after 2 s, and then after 5 s.
const SOON: u32 = 10;

/// What the address of the page says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The customer is on the way to the card form.
    pub pay: bool,
    /// How often the page has looked again by itself.
    pub looks: u32,
}

impl Waiting {
    /// Reads `pay` and `look=N` of a query.
    pub fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "pay" => read.pay = true,
                "look" => read.looks = value.parse().unwrap_or(LOOKS),
                _ => {}
            }
        }
        read
    }

    /// Where the page at this path goes by itself, and after how long, as `Refresh` has it: to the
    /// card form that waits for its customer, or to itself while the payment may change.
    pub fn refresh(self, path: &str, form: Option<&str>, is_open: bool) -> Option<String> {
        match form {
            Some(form) if self.pay => Some(format!("0; url={form}")),
            _ if is_open && self.looks < LOOKS => {
                let seconds = if self.looks < SOON { 2 } else { 5 };
                let pay = if self.pay { "pay&" } else { "" };
                Some(format!("{seconds}; url={path}?{pay}look={}", self.looks + 1))
            }
            _ => None,
        }
    }
}

/// The value of a name in the query with which a customer comes back from the card form; empty
/// without it. Anybody could have written it, so the processor is asked.
pub fn returned(query: &str, name: &str) -> String {
    let mut values = form_urlencoded::parse(query.as_bytes());
    let found = values.find(|(it, _)| it == name).map(|(_, value)| value.into_owned());
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_the_form_and_looks_again_for_a_while() {
        let of =
            |form: Option<&str>, query: &str| Waiting::read(query).refresh("/orders/7", form, true);
        let form = Some("https://card.example/1");
        let there = Some("0; url=https://card.example/1".to_owned());
        assert_eq!(of(form, "pay"), there);
        assert_eq!(of(form, "pay&look=30"), there);
        assert_eq!(of(form, ""), Some("2; url=/orders/7?look=1".into()));
        assert_eq!(of(None, "pay&look=9"), Some("2; url=/orders/7?pay&look=10".into()));
        assert_eq!(of(None, "look=10"), Some("5; url=/orders/7?look=11".into()));
        for query in ["look=30", "look=4294967295", "look=x"] {
            assert_eq!(of(None, query), None, "{query}");
        }
        assert_eq!(Waiting::read("pay").refresh("/orders/7", None, false), None);
    }

    #[test]
    fn the_number_of_a_return_is_found_among_others() {
        assert_eq!(returned("status=paid&order=17&order=18", "order"), "17");
        assert_eq!(returned("status=paid", "order"), "");
    }
}
