//! Which certificate a customer gets, by the server name that they ask for.

use std::collections::{BTreeSet, HashMap};

/// The names of certificates.
#[derive(Debug)]
pub struct Names {
    exact: HashMap<String, Vec<usize>>,
    /// Those that begin with `*.`, without that.
    wildcards: HashMap<String, Vec<usize>>,
    /// The first certificate, and those with the same names.
    first: Vec<usize>,
    /// All certificates have the same names.
    alike: bool,
}

impl Default for Names {
    /// One certificate without a name.
    fn default() -> Self {
        Self::new([&[][..]])
    }
}

impl Names {
    /// The names of each certificate, in lower case.
    pub fn new<'a>(certificates: impl IntoIterator<Item = &'a [String]>) -> Self {
        let (mut exact, mut wildcards) = (HashMap::new(), HashMap::new());
        let (mut of_first, mut first, mut alike) = (BTreeSet::new(), Vec::new(), true);
        for (place, certificate) in certificates.into_iter().enumerate() {
            let own: BTreeSet<&String> = certificate.iter().collect();
            if place == 0 {
                of_first.clone_from(&own);
            }
            match own == of_first {
                true => first.push(place),
                false => alike = false,
            }
            for name in own {
                let (names, name) = match name.strip_prefix("*.") {
                    Some(parent) => (&mut wildcards, parent),
                    None => (&mut exact, name.as_str()),
                };
                names.entry(name.to_owned()).or_insert_with(Vec::new).push(place);
            }
        }
        Self { exact, wildcards, first, alike }
    }

    /// The places of the certificates for a server name, in order; at least one if there is
    /// any certificate: those with that name, else with a wildcard in place of its first label,
    /// else the first and those with the same names. So it is without a name.
    ///
    /// Source: RFC 6125, section 6.4.3.
    pub fn choose(&self, server_name: Option<&str>) -> &[usize] {
        let Some(name) = server_name.filter(|_| !self.alike) else { return &self.first };
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
        self.exact.get(name).or_else(wildcard).unwrap_or(&self.first)
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
            assert_eq!(names.choose(Some(name)), [place], "{name}");
        }
        assert_eq!(names.choose(None), [0]);
    }

    #[test]
    fn certificates_with_the_same_name_are_alternatives_in_their_order() {
        let lists = [&["a.test", "*.a.test"][..], &["b.test"], &["*.a.test", "a.test"]];
        let lists = lists.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        let names = Names::new(lists.iter().map(Vec::as_slice));
        for (name, places) in [
            (Some("a.test"), &[0, 2][..]),
            (Some("x.a.test"), &[0, 2]),
            (Some("b.test"), &[1]),
            (Some("other.test"), &[0, 2]),
            (None, &[0, 2]),
        ] {
            assert_eq!(names.choose(name), places, "{name:?}");
        }
        assert_eq!(Names::new([&lists[0][..], &lists[2]]).choose(Some("x")), [0, 1]);
        assert_eq!(Names::default().choose(Some("x")), [0]);
    }
}
