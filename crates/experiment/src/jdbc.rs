//! The JDBC URL of a PostgreSQL database, from the URL that our own sites read.

/// Options of a URL that mean the same to both drivers.
const OPTIONS: [&str; 4] = ["sslmode", "sslrootcert", "sslcert", "sslkey"];
/// What a URL must be.
const RULE: &str = "must be postgres://USER:PASSWORD@HOST:PORT/NAME for Tomcat";
/// A URL that is right.
const REMEDY: &str = "try postgres://auction@127.0.0.1/auction";

/// Why there is no JDBC URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The rule that the URL breaks.
    pub rule: String,
    /// What to do instead.
    pub remedy: String,
}

/// The URL for Java's driver. Password and port may be missing. Java's driver reads user and
/// password as options, and reaches a server by TCP alone.
///
/// # Errors
/// It is no URL of PostgreSQL, names no user, host or database, or has an option that Java's
/// driver does not know.
pub(crate) fn postgres(url: &str) -> Result<String, Mistake> {
    let wrong = |rule: &str, remedy: &str| Mistake { rule: rule.into(), remedy: remedy.into() };
    let rest = ["postgres://", "postgresql://"].iter().find_map(|start| url.strip_prefix(start));
    let parts = rest.and_then(parts);
    let Some(Parts { user, password, host, name, options }) = parts else {
        return Err(wrong(RULE, REMEDY));
    };
    if host.contains("%2F") || host.contains("%2f") {
        return Err(wrong("names a socket, and Java's driver uses TCP alone", REMEDY));
    }
    let mut jdbc = format!("jdbc:postgresql://{host}/{name}?user={}", escaped(user));
    if let Some(password) = password {
        jdbc += &format!("&password={}", escaped(password));
    }
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if !OPTIONS.contains(&key) {
            let rule = format!("has an option {key:?} that Java's driver is not given");
            let remedy = format!("leave it out; known are {}", OPTIONS.join(", "));
            return Err(wrong(&rule, &remedy));
        }
        jdbc += &format!("&{key}={}", escaped(value));
    }
    Ok(jdbc)
}

/// A URL after its scheme. All parts are as they were written.
struct Parts<'a> {
    user: &'a str,
    password: Option<&'a str>,
    /// With the port, if there is one.
    host: &'a str,
    name: &'a str,
    options: &'a str,
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let (place, options) = text.split_once('?').unwrap_or((text, ""));
    let (authority, name) = place.split_once('/')?;
    let (user, host) = authority.rsplit_once('@')?;
    let (user, password) = match user.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (user, None),
    };
    let all = [user, host, name].iter().all(|part| !part.is_empty());
    (all && !name.contains('/')).then_some(Parts { user, password, host, name, options })
}

/// A part of a URL as the value of an option. What is escaped already stays so; Java reads `+`
/// as a space, and `&` ends a value.
fn escaped(part: &str) -> String {
    part.replace('+', "%2B").replace('&', "%26")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_postgresql_becomes_one_that_java_reads() {
        for (url, jdbc) in [
            ("postgres://ann@db/shop", "jdbc:postgresql://db/shop?user=ann"),
            (
                "postgresql://ann:p%40ss@db.example:5433/shop",
                "jdbc:postgresql://db.example:5433/shop?user=ann&password=p%40ss",
            ),
            (
                "postgres://ann:a+b&c@[::1]:5433/shop?sslmode=require&sslrootcert=/ca.pem",
                "jdbc:postgresql://[::1]:5433/shop?user=ann&password=a%2Bb%26c&sslmode=require&sslrootcert=/ca.pem",
            ),
        ] {
            assert_eq!(postgres(url).as_deref(), Ok(jdbc));
        }
    }

    #[test]
    fn what_java_cannot_reach_is_refused_with_a_remedy() {
        for (url, expected) in [
            ("sqlite:auction.db", "must be postgres://"),
            ("jdbc:h2:mem:auction", "must be postgres://"),
            ("postgres://db/shop", "must be postgres://"),
            ("postgres://ann@/shop", "must be postgres://"),
            ("postgres://@db/shop", "must be postgres://"),
            ("postgres://ann@db", "must be postgres://"),
            ("postgres://ann@db/", "must be postgres://"),
            ("postgres://ann@db/a/b", "must be postgres://"),
            ("postgres://ann@%2Frun%2Fpostgresql/shop", "names a socket"),
            ("postgres://ann@localhost/shop?host=/run/postgresql", "has an option \"host\""),
        ] {
            let mistake = postgres(url).expect_err(url);
            assert!(mistake.rule.contains(expected), "{url}: {mistake:?}");
            assert!(!mistake.remedy.is_empty(), "{url}");
        }
    }
}
