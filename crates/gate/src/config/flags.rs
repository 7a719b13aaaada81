//! Flags of the command line that stand for keys of the file.

use tidegate_config::Flag;

/// Values of flags as typed; none where a flag is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--upstream URL`
    pub upstream: Option<String>,
    /// `--listen ADDR`
    pub listen: Option<String>,
    /// `--clear ADDR`
    pub clear: Option<String>,
    /// `--cert FILE`
    pub cert: Option<String>,
    /// `--key FILE`
    pub key: Option<String>,
    /// `--admin ADDR`
    pub admin: Option<String>,
    /// `--policy off|static|eac|tide`
    pub policy: Option<String>,
    /// `--rate N`, for the policy `static`
    pub rate: Option<String>,
    /// `--cores LIST`
    pub cores: Option<String>,
    /// `--log FILTER`
    pub log: Option<String>,
    /// `--trace FILE`
    pub trace: Option<String>,
}

impl Flags {
    /// Every flag with the key that it stands for, in the order of the reference
    /// page.
    pub fn all(&self) -> [Flag<'_>; 11] {
        let rows = [
            ("--upstream", "upstream.url", &self.upstream),
            ("--listen", "listen.address", &self.listen),
            ("--clear", "listen.clear", &self.clear),
            ("--cores", "listen.cores", &self.cores),
            ("--cert", "tls.certificate", &self.cert),
            ("--key", "tls.key", &self.key),
            ("--admin", "admin.address", &self.admin),
            ("--policy", "admission.policy", &self.policy),
            ("--rate", "admission.rate", &self.rate),
            ("--log", "log.level", &self.log),
            ("--trace", "trace.file", &self.trace),
        ];
        rows.map(|(name, key, value)| Flag { name, key, value: value.as_deref() })
    }
}
