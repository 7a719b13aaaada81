//! How a log is to be read: the format of its lines, the keys of JSON, and the field that names the
//! session.

use std::str::FromStr;

/// How the lines of a log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Common or combined.
    Combined,
    /// An object of JSON each.
    Json,
}

impl Format {
    /// The format of a line.
    pub(super) fn of(line: &str) -> Self {
        if line.trim_start().starts_with('{') { Self::Json } else { Self::Combined }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Combined => {
                "the common or combined format: 10.0.0.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/2.0\" 200 2326 \"-\" \"Mozilla/5.0\""
            }
            Self::Json => "JSON, an object on each line with time, address, path and status",
        }
    }
}

/// The field of a log that names the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionField {
    /// Its number from 1, or `user`, in the combined format; its key in JSON.
    pub(super) field: String,
    /// The cookie of this name, where the field has several.
    pub(super) cookie: Option<String>,
}

impl FromStr for SessionField {
    type Err = String;

    /// Reads `FIELD` or `FIELD:COOKIE`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (field, cookie) = match text.rsplit_once(':') {
            Some((field, cookie)) => (field, Some(cookie)),
            None => (text, None),
        };
        if field.is_empty() || cookie == Some("") {
            return Err(
                "must be FIELD or FIELD:COOKIE, as in 10 or request.headers.Cookie:sid".into()
            );
        }
        Ok(Self { field: field.to_owned(), cookie: cookie.map(str::to_owned) })
    }
}

/// Keys of JSON lines, where they are not the usual ones; of a key within another one with dots
/// between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub(super) time: Option<String>,
    pub(super) client: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) method: Option<String>,
    pub(super) path: Option<String>,
    pub(super) status: Option<String>,
}

impl FromStr for Keys {
    type Err = String;

    /// Reads `FIELD=KEY`, separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys = Self::default();
        for pair in text.split(',') {
            let (field, key) = pair
                .split_once('=')
                .filter(|(_, key)| !key.is_empty())
                .ok_or_else(|| format!("{pair} must be FIELD=KEY, as in time=started_at"))?;
            let place = match field {
                "time" => &mut keys.time,
                "client" => &mut keys.client,
                "agent" => &mut keys.agent,
                "method" => &mut keys.method,
                "path" => &mut keys.path,
                "status" => &mut keys.status,
                _ => {
                    return Err(format!(
                        "{field} is no field; use time, client, agent, method, path or status"
                    ));
                }
            };
            *place = Some(key.to_owned());
        }
        Ok(keys)
    }
}

/// How a log is to be read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// How its lines are written; `None`: as its first line is.
    pub format: Option<Format>,
    /// Keys of JSON lines.
    pub keys: Keys,
    /// The field that names the session.
    pub session: Option<SessionField>,
}

/// The value of a field, or of a cookie in it; `None` of an empty one and of `-`.
pub(super) fn cookie(field: &str, name: Option<&str>) -> Option<String> {
    let value = match name {
        None => field,
        Some(name) => field.split(';').find_map(|pair| {
            pair.trim().split_once('=').filter(|(own, _)| *own == name).map(|(_, value)| value)
        })?,
    };
    Some(value).filter(|it| !it.is_empty() && *it != "-").map(str::to_owned)
}
