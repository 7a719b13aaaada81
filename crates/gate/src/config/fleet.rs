//! What the keys of `[fleet]` may be, and the files that they name.

use super::fields::Fleet;
use tidegate_config::{Problem, Rule, Value, text_of};
use url::Url;

/// The server of NATS.
#[derive(Debug)]
pub struct NatsUrl;

impl Rule for NatsUrl {
    type Read<'r> = Url;

    fn read(&self, value: &Value<'_>) -> Result<Url, Problem> {
        tidegate_fleet::read_server(text_of(value, "nats://127.0.0.1:4222")?)
    }

    fn kind(&self) -> String {
        "URL of NATS".into()
    }

    fn range(&self) -> String {
        "`nats://` or `tls://`, a host, a port".into()
    }
}

/// The name of a fleet or, with dots and colons too, of a gate.
#[derive(Debug)]
pub enum Named {
    /// A fleet.
    Fleet,
    /// A gate.
    Gate,
}

impl Rule for Named {
    type Read<'r> = String;

    fn read(&self, value: &Value<'_>) -> Result<String, Problem> {
        let (fits, example): (fn(&str) -> bool, _) = match self {
            Self::Fleet => (tidegate_fleet::is_fleet, "shop"),
            Self::Gate => (tidegate_fleet::is_name, "gate-1"),
        };
        let given = text_of(value, example)?;
        if !fits(given) {
            let rule = format!("must be {}", self.range());
            return Err(Problem::new(rule, format!("try \"{example}\"")));
        }
        Ok(given.to_owned())
    }

    fn kind(&self) -> String {
        "name".into()
    }

    fn range(&self) -> String {
        match self {
            Self::Fleet => "1 to 32 letters, digits, `-` and `_`".into(),
            Self::Gate => "1 to 64 letters, digits, `-`, `_`, `.` and `:`".into(),
        }
    }
}

impl Fleet {
    /// What is wrong between the keys: the key and the problem.
    pub(super) fn mistakes(&self) -> Vec<(&'static str, Problem)> {
        let mut mistakes = Vec::new();
        let files = [
            ("fleet.secret_file", self.secret_file.is_some()),
            ("fleet.credentials_file", self.credentials_file.is_some()),
            ("fleet.nkey_file", self.nkey_file.is_some()),
            ("fleet.ca_file", self.ca_file.is_some()),
        ];
        if self.nats.is_none() {
            for (key, _) in files.into_iter().filter(|(_, set)| *set) {
                let remedy = "add nats = \"nats://HOST:4222\" under [fleet], or leave it out";
                mistakes.push((key, Problem::new("has no effect without fleet.nats", remedy)));
            }
        } else if self.secret_file.is_none() {
            let remedy = "add secret_file = \"fleet.secret\" under [fleet], a file that all gates have: \
                          (umask 077; openssl rand -base64 32 > fleet.secret) makes one";
            mistakes
                .push(("fleet.secret_file", Problem::new("must be set beside fleet.nats", remedy)));
        }
        if self.credentials_file.is_some() && self.nkey_file.is_some() {
            let problem =
                Problem::new("is a second user beside credentials_file", "leave one of them out");
            mistakes.push(("fleet.nkey_file", problem));
        }
        mistakes
    }
}
