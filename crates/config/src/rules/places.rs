//! Rules of places: addresses and paths.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::mistake::Problem;
use crate::rule::{Rule, text_of};
use crate::tree::Value;

/// An IP address and a port.
#[derive(Clone, Copy, Debug)]
pub struct Address;

impl Rule for Address {
    type Read<'r> = SocketAddr;

    fn read(&self, value: &Value<'_>) -> Result<SocketAddr, Problem> {
        let given = text_of(value, "127.0.0.1:8443")?;
        let rule = "must be an IP address and a port";
        if let Ok(address) = given.parse() {
            return Ok(address);
        }
        let port = given.strip_prefix(':').or(given.strip_prefix("*:")).unwrap_or(given);
        if port.parse::<u16>().is_ok() {
            let remedy = format!("\"0.0.0.0:{port}\" is that port on all addresses");
            return Err(Problem::new(rule, remedy));
        }
        if let Some(port) = given.strip_prefix("localhost:") {
            return Err(Problem::new(rule, format!("try \"127.0.0.1:{port}\"")));
        }
        Err(Problem::new(rule, "write it as \"127.0.0.1:8443\" or \"[::1]:8443\""))
    }

    fn kind(&self) -> String {
        "address".into()
    }

    fn range(&self) -> String {
        "IP address and port, such as 0.0.0.0:443 or [::]:443".into()
    }
}

/// The other rule, or the word `off`.
#[derive(Clone, Copy, Debug)]
pub struct OrOff<R>(pub R);

impl<R: Rule> Rule for OrOff<R> {
    type Read<'r> = Option<R::Read<'r>>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Self::Read<'r>, Problem> {
        match value.text() {
            Some("off") => Ok(None),
            _ => self.0.read(value).map(Some),
        }
    }

    fn kind(&self) -> String {
        format!("{} or word", self.0.kind())
    }

    fn range(&self) -> String {
        format!("{}; or off", self.0.range())
    }

    fn toml(&self, bare: &str) -> String {
        if bare == "off" { format!("{bare:?}") } else { self.0.toml(bare) }
    }
}

/// A path; one of a file starts in the folder of that file. Whether something
/// is there is found when it is opened.
#[derive(Clone, Copy, Debug)]
pub struct FilePath;

impl Rule for FilePath {
    type Read<'r> = PathBuf;

    fn read(&self, value: &Value<'_>) -> Result<PathBuf, Problem> {
        let given = text_of(value, "/etc/tidegate/cert.pem")?;
        if given.is_empty() || given.contains('\0') {
            return Err(Problem::new("must be a path", "name a file, or leave the key out"));
        }
        Ok(value.resolve(given))
    }

    fn kind(&self) -> String {
        "path".into()
    }

    fn range(&self) -> String {
        "absolute, or relative to the configuration file".into()
    }
}
