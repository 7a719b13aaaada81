//! Which certificate a customer gets, by the server name that they ask for.

use std::collections::HashMap;

/// The names of certificates.
#[derive(Debug, Default)]
pub struct Names {
    exact: HashMap<String, usize>,
    /// Those that begin with `*.`, without that.
    wildcards: HashMap<String, usize>,
    /// There is one certificate only.
    single: bool,
}

impl Names {
    /// The names of each certificate, in lower case. Where two have the same name, the
    /// earlier certificate is chosen.
    pub fn new<'a>(certificates: impl IntoIterator<Item = &'a [String]>) -> Self {
        let mut names = Self { single: true, ..Self::default() };
        for (place, certificate) in certificates.into_iter().enumerate() {
            names.single = place == 0;
            for name in certificate {
                match name.strip_prefix("*.") {
                    Some(parent) => names.wildcards.entry(parent.to_owned()).or_insert(place),
                    None => names.exact.entry(name.clone()).or_insert(place),
                };
            }
        }
        names
    }

    /// The place of the certificate for a server name: with that name, else with a wildcard
    /// in place of its first label, else the first. Without a name it is the first.
    ///
    /// Source: RFC 6125, section 6.4.3.
    pub fn choose(&self, server_name: Option<&str>) -> usize {
        let Some(name) = server_name.filter(|_| !self.single) else { return 0 };
        // Clients are to send lower case.
        let lower;
        let name = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => {
                lower = name.to_ascii_lowercase();
                lower.as_str()
            }
            false => name,
        };
        let wildcard = || self.wildcards.get(name.split_once('.')?.1);
        self.exact.get(name).or_else(wildcard).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_name_goes_before_a_wildcard_and_the_first_certificate_serves_the_rest() {
        let lists = [&["shop.example"][..], &["*.shop.example", "b.test"], &["a.shop.example"]];
        let lists = lists.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let names = Names::new(lists.iter().map(Vec::as_slice));
        for (name, place) in [
            ("shop.example", 0),
            ("a.shop.example", 2),
            ("A.Shop.Example", 2),
            ("x.shop.example", 1),
            ("x.y.shop.example", 0),
            ("b.test", 1),
            ("test", 0),
            ("", 0),
            ("other.test", 0),
        ] {
            assert_eq!(names.choose(Some(name)), place, "{name}");
        }
        assert_eq!(names.choose(None), 0);
    }

    #[test]
    fn of_two_certificates_with_one_name_the_earlier_is_chosen() {
        let names = ["*.a.test".to_owned(), "a.test".to_owned()];
        let names = Names::new([&[][..], &names[..], &names[..]]);
        assert_eq!([names.choose(Some("a.test")), names.choose(Some("b.a.test"))], [1, 1]);
    }
}
