//! Amounts of money: whole minor units of a currency.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidegate_sitekit::money::separated;

/// Most minor units of a payment.
pub const MOST: i64 = 9_999_999_999;

/// Currencies by the number of digits of their minor unit.
///
/// Source: ISO 4217, list one, of currencies in circulation. Codes of funds, metals and tests
/// are left out.
const CURRENCIES: [(usize, &str); 3] = [
    (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"),
    (
        2,
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD \
         CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD \
         GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL \
         MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN \
         PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP \
         SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW",
    ),
    (3, "BHD IQD JOD KWD LYD OMR TND"),
];

/// A currency of ISO 4217.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Currency {
    code: &'static str,
    digits: usize,
}

impl Currency {
    /// US dollars.
    pub const USD: Self = Self { code: "USD", digits: 2 };

    /// The currency of this code, in capital or small letters.
    pub fn of_code(code: &str) -> Option<Self> {
        CURRENCIES.iter().find_map(|(digits, codes)| {
            let mut known = codes.split(' ');
            let code = known.find(|known| known.eq_ignore_ascii_case(code))?;
            Some(Self { code, digits: *digits })
        })
    }

    /// Its code, such as `USD`.
    pub fn code(self) -> &'static str {
        self.code
    }

    /// An amount of minor units as people write it: `1,234.50 USD`.
    pub fn show(self, minor: i64) -> String {
        let unit = 10_i64.pow(u32::try_from(self.digits).expect("at most three digits"));
        let mut text = separated((minor / unit).unsigned_abs());
        if self.digits > 0 {
            text += &format!(".{:0digits$}", minor % unit, digits = self.digits);
        }
        format!("{text} {}", self.code)
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::of_code(&code).ok_or_else(|| serde::de::Error::custom("must be a code of ISO 4217"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_digits_of_their_currency() {
        let show = |code, minor| Currency::of_code(code).unwrap().show(minor);
        assert_eq!(show("usd", 123_450), "1,234.50 USD");
        assert_eq!(show("USD", 5), "0.05 USD");
        assert_eq!(show("JPY", 1_234_567), "1,234,567 JPY");
        assert_eq!(show("KWD", 1_005), "1.005 KWD");
        assert_eq!(show("EUR", MOST), "99,999,999.99 EUR");
        assert_eq!(Currency::of_code("USD"), Some(Currency::USD));
    }

    #[test]
    fn a_code_that_is_none_is_unknown() {
        for code in ["", "US", "USDD", "XXX", "U D", "USD EUR", "ÜSD"] {
            assert_eq!(Currency::of_code(code), None, "{code}");
        }
        let codes = CURRENCIES.iter().flat_map(|(_, codes)| codes.split(' '));
        assert!(codes.clone().all(|code| code.len() == 3));
        assert_eq!(codes.collect::<std::collections::HashSet<_>>().len(), 16 + 129 + 7);
    }
}
