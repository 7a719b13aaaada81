//! Which compressed form of a file a client accepts.

use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};

/// The coding of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Brotli, in a file that ends with `.br`.
    Brotli,
    /// gzip, in a file that ends with `.gz`.
    Gzip,
    /// As it is.
    Identity,
}

impl Coding {
    /// All, the shortest form first.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Gzip, Self::Identity];

    /// The ending of the files with this coding.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Gzip => ".gz",
            Self::Identity => "",
        }
    }

    /// Its name in `Content-Encoding`; none where there is no such field.
    pub const fn name(self) -> Option<HeaderValue> {
        match self {
            Self::Brotli => Some(HeaderValue::from_static("br")),
            Self::Gzip => Some(HeaderValue::from_static("gzip")),
            Self::Identity => None,
        }
    }

    const fn token(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
            Self::Identity => "identity",
        }
    }
}

/// How much a client wants each coding, in thousandths; 0: not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted([u16; 3]);

impl Accepted {
    /// What a request says. Without the field a client gets a file as it is.
    ///
    /// Source: RFC 9110, section 12.5.3; `x-gzip` is `gzip` (section 8.4.1.3).
    pub fn of(headers: &HeaderMap) -> Self {
        let mut weights = [None; Coding::ALL.len()];
        let mut others = None;
        for value in headers.get_all(ACCEPT_ENCODING) {
            for member in value.as_bytes().split(|byte| *byte == b',') {
                let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
                let name = parts.next().unwrap_or_default();
                let Some(weight) = parts.try_fold(1000, |_, part| weight(part)) else { continue };
                let named = |coding: &Coding| {
                    name.eq_ignore_ascii_case(coding.token().as_bytes())
                        || (*coding == Coding::Gzip && name.eq_ignore_ascii_case(b"x-gzip"))
                };
                match Coding::ALL.iter().position(named) {
                    Some(at) => weights[at] = Some(weight),
                    None if name == b"*" => others = Some(weight),
                    None => {}
                }
            }
        }
        let of = |at: usize, coding| {
            weights[at].unwrap_or(match (coding, others) {
                // Acceptable unless it is excluded, and wanted less than what is named.
                (Coding::Identity, None) => 1,
                (_, others) => others.unwrap_or(0),
            })
        };
        Self(std::array::from_fn(|at| of(at, Coding::ALL[at])))
    }

    /// The most wanted of the codings that there are, the shortest of several. A file as it is
    /// goes to a client that accepts nothing: an error would help nobody.
    pub fn best(self, is_there: impl Fn(Coding) -> bool) -> Coding {
        let wanted = Coding::ALL.into_iter().zip(self.0);
        let wanted = wanted.filter(|(coding, weight)| *weight > 0 && is_there(*coding)).rev();
        wanted.max_by_key(|(_, weight)| *weight).map_or(Coding::Identity, |(coding, _)| coding)
    }
}

/// The weight of a parameter `q`, in thousandths.
fn weight(parameter: &[u8]) -> Option<u16> {
    let (name, value) = parameter.split_at_checked(2)?;
    if !name.eq_ignore_ascii_case(b"q=") {
        return None;
    }
    let (whole, rest) = value.split_first()?;
    let decimals = match rest {
        [] => b"",
        [b'.', decimals @ ..] if decimals.len() <= 3 => decimals,
        _ => return None,
    };
    let mut thousandths = 0;
    for at in 0..3 {
        let digit = decimals.get(at).copied().unwrap_or(b'0');
        thousandths = thousandths * 10 + u16::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    match (whole, thousandths) {
        (b'0', thousandths) => Some(thousandths),
        (b'1', 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coding::{Brotli, Gzip, Identity};

    fn best(fields: &[&'static str], there: &[Coding]) -> Coding {
        let mut headers = HeaderMap::new();
        for value in fields {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        Accepted::of(&headers).best(|coding| coding == Identity || there.contains(&coding))
    }

    #[test]
    fn the_most_wanted_form_is_chosen_and_the_shortest_of_several() {
        let both = [Brotli, Gzip];
        for (fields, chosen) in [
            (&["gzip, deflate, br, zstd"][..], Brotli),
            (&["gzip"], Gzip),
            (&["GZIP ; Q=0.5"], Gzip),
            (&["x-gzip"], Gzip),
            (&["br;q=0.5, gzip"], Gzip),
            (&["br;q=0.5", "gzip;q=0.499"], Brotli),
            (&["br;q=0, gzip;q=0"], Identity),
            (&["*"], Brotli),
            (&["*;q=0"], Identity),
            (&["br;q=0, *"], Gzip),
            (&["identity, br;q=0.5"], Identity),
            (&["identity;q=0"], Identity),
            (&[""], Identity),
            (&[], Identity),
            (&["br;q=1.5, gzip;q=x"], Identity),
            (&["br;q=0.0001"], Identity),
            (&["brotli"], Identity),
        ] {
            assert_eq!(best(fields, &both), chosen, "{fields:?}");
        }
        assert_eq!(best(&["br, gzip;q=0.1"], &[Gzip]), Gzip);
        assert_eq!(best(&["br"], &[Gzip]), Identity);
    }

    #[test]
    fn a_weight_has_at_most_three_decimals() {
        for (text, thousandths) in
            [("q=1", 1000), ("q=1.000", 1000), ("q=0", 0), ("q=0.5", 500), ("q=0.123", 123)]
        {
            assert_eq!(weight(text.as_bytes()), Some(thousandths), "{text}");
        }
        for text in ["q=", "q", "", "q=2", "q=1.001", "q=0.1234", "q=.5", "q=-1", "q=0,5", "x=1"] {
            assert_eq!(weight(text.as_bytes()), None, "{text}");
        }
    }
}
