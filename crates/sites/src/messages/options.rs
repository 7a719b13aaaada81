//! Options of the message service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use super::formats::Format;

/// Options of the message service.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Format of the messages.
    pub format: Format,
    /// File of the server's keys; needed unless the format is [`Format::None`].
    pub keys: Option<PathBuf>,
    /// TLS of the connections; `None`: plain HTTP.
    pub tls: Option<Tls>,
    /// Processors to run on, one thread pinned to each; `None`: all that are allowed.
    pub cores: Option<Vec<usize>>,
}

/// TLS of the connections.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Versions that are offered.
    pub version: TlsVersion,
    /// PEM files of the certificate chain and of its key; `None`: a self-signed certificate
    /// for `localhost`, made at the start.
    pub files: Option<(PathBuf, PathBuf)>,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// 1.2 and 1.3.
    Both,
    /// 1.2 alone.
    V12,
    /// 1.3 alone.
    V13,
}

impl FromStr for TlsVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "both" => Ok(Self::Both),
            "1.2" => Ok(Self::V12),
            "1.3" => Ok(Self::V13),
            _ => Err("must be 1.2, 1.3 or both".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_does_not_exist_names_those_that_do() {
        assert_eq!("1.3".parse(), Ok(TlsVersion::V13));
        assert!("1.1".parse::<TlsVersion>().unwrap_err().contains("1.2, 1.3 or both"));
    }
}
