//! The addresses of the target in the report.

use crate::result::figures::AddressFigures;

/// The connections of each address, if there are several.
pub(super) fn addresses(all: &[AddressFigures]) -> Option<String> {
    let text = |it: &AddressFigures| {
        let AddressFigures { address, connections, passed_over, unreachable } = it;
        match unreachable {
            Some(why) => format!("{address} was left out: {why}"),
            None if *passed_over > 0 => {
                format!("{address} {connections} connections, passed over {passed_over} times")
            }
            None => format!("{address} {connections} connections"),
        }
    };
    let texts: Vec<String> = all.iter().map(text).collect();
    (all.len() > 1).then(|| format!("addresses       {}", texts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_addresses_have_a_line_with_their_connections() {
        let [a, b, c] = ["192.0.2.1:443", "192.0.2.2:443", "[::1]:443"].map(|address| {
            let mut figures = AddressFigures::new(address.parse().unwrap(), None);
            figures.connections = 7;
            figures
        });
        assert_eq!(addresses(std::slice::from_ref(&a)), None);
        let b = AddressFigures { passed_over: 2, ..b };
        let c = AddressFigures { unreachable: Some("Connection refused".to_owned()), ..c };
        let expected = "addresses       192.0.2.1:443 7 connections; \
                        192.0.2.2:443 7 connections, passed over 2 times; \
                        [::1]:443 was left out: Connection refused";
        assert_eq!(addresses(&[a, b, c]).as_deref(), Some(expected));
    }
}
