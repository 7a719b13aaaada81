//! What a reader of a file reports: lines, values as written, flags.

use tidegate_config::Preset::{Is, Required, Unset};
use tidegate_config::{
    Address, Boolean, Bytes, FilePath, Flag, Number, OrOff, Settings, Time, Whole, keys, read,
    read_with_flags,
};

keys! {
    /// Where customers connect.
    pub struct Listen = "listen" {
        /// Where.
        address: std::net::SocketAddr = Required("127.0.0.1:80"), Address, because "-";
        /// Where else.
        other: Option<std::net::SocketAddr> = Is("off"), OrOff(Address), because "-";
        /// How many.
        backlog: u16 = Is("10"), Whole(1, 100_000), because "-";
        /// How large.
        size: usize = Is("1KiB"), Bytes("0B", "1MiB"), because "-";
    }

    /// What else there is.
    pub struct Limits = "limits" {
        /// How long.
        idle: std::time::Duration = Is("10s"), Time("0s", "1h"), because "-";
        /// How often.
        rate: Option<f64> = Unset, Number(0.5, f64::MAX), because "-";
        /// A file.
        file: Option<std::path::PathBuf> = Unset, FilePath, because "-";
        /// Whether.
        strict: bool = Is("false"), Boolean, because "-";
    }
}

fn gate(text: &str, flags: &[Flag<'_>]) -> Result<(Listen, Limits), String> {
    let made = read_with_flags(Some(("etc/a.toml", text)), flags, |root| {
        root.known_tables(&tables(), &["routes"]);
        let read = |name| root.table_or_empty(name);
        Some((Listen::read(&read(Listen::NAME)), Limits::read(&read(Limits::NAME))))
    });
    made.map_err(|mistakes| mistakes.to_string())
}

fn flag(name: &'static str, key: &'static str, value: Option<&'static str>) -> Flag<'static> {
    Flag { name, key, value }
}

#[test]
fn defaults_hold_where_nothing_is_set() {
    let (listen, limits) = gate("listen.address = \"[::1]:443\"", &[]).unwrap();
    assert_eq!(listen.address.to_string(), "[::1]:443");
    assert_eq!((listen.other, listen.backlog, listen.size), (None, 10, 1024));
    assert_eq!((limits.rate, limits.file, limits.strict), (None, None, false));
    assert_eq!(limits.idle.as_secs(), 10);
}

#[test]
fn every_mistake_has_the_line_of_its_value() {
    let text = "colour = 1\n[listen]\naddress = \"80\"\n\nbacklog = 0x1_0000\nbacklug = [\n 1,\n]\n\
                [limit]\nx = 1\n[limits]\nidle = 5\nrate = 0\nstrict = \"true\"\nother = {}\n\
                size = \"1KiB\"\n";
    let expected = "\
etc/a.toml:1: colour = 1: is not a known key; every key stands under a [table]
etc/a.toml:3: listen.address = \"80\": must be an IP address and a port; \"0.0.0.0:80\" is that port on all addresses
etc/a.toml:5: listen.backlog = 0x1_0000: is too large; choose a smaller number
etc/a.toml:6: listen.backlug = [ 1, ]: is not a known key; did you mean backlog?
etc/a.toml:9: limit: is not a known table; did you mean [limits]?
etc/a.toml:12: limits.idle = 5: must be a duration of 0s to 1h; add the unit, as in \"5s\"
etc/a.toml:13: limits.rate = 0: must be a number of at least 0.5; try 0.5
etc/a.toml:14: limits.strict = \"true\": must be true or false; write it without quotes
etc/a.toml:15: limits.other: is not a known key; it belongs under [listen]
etc/a.toml:16: limits.size = \"1KiB\": is not a known key; it belongs under [listen]";
    assert_eq!(gate(text, &[]).unwrap_err(), expected);
}

#[test]
fn a_missing_key_is_reported_at_its_table_and_with_its_flag() {
    let flags = [flag("--listen", "listen.address", None)];
    let missing = |text, flags: &[Flag<'_>]| gate(text, flags).unwrap_err();
    assert_eq!(
        missing("\n[listen]\nbacklog = 3", &[]),
        "etc/a.toml:2: listen.address: must be set; add address = \"127.0.0.1:80\""
    );
    assert_eq!(
        missing("", &flags),
        "etc/a.toml: listen.address: must be set; add address = \"127.0.0.1:80\" under [listen], \
         or give --listen"
    );
}

#[test]
fn a_flag_goes_before_the_file_and_its_mistakes_name_it() {
    let text = "[listen]\naddress = \"127.0.0.1:1\"\n[limits]\nfile = \"b.pem\"";
    let flags = [flag("--listen", "listen.address", Some("127.0.0.1:2"))];
    let (listen, limits) = gate(text, &flags).unwrap();
    assert_eq!(listen.address.port(), 2);
    assert_eq!(limits.file.unwrap(), std::path::Path::new("etc/b.pem"));
    let flags = [flag("--file", "limits.file", Some("b.pem"))];
    let (_, limits) = gate(text, &flags).unwrap();
    assert_eq!(limits.file.unwrap(), std::path::Path::new("b.pem"));
    let flags = [flag("--rate", "limits.rate", Some("much"))];
    assert_eq!(
        gate(text, &flags).unwrap_err(),
        "--rate: limits.rate = much: must be a number of at least 0.5; write digits, as in 20 or 0.5"
    );
}

#[test]
fn every_line_that_is_not_toml_is_reported_once_and_the_others_are_read() {
    let text = "[listen]\naddress = \nbacklog = 'x\ny = = 2\n[limits]\nidle = 1\n";
    let found = gate(text, &[]).unwrap_err();
    let lines: Vec<_> = found.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert!(lines.starts_with(&["etc/a.toml:1", "etc/a.toml:2", "etc/a.toml:3"]), "{found}");
    assert!(found.contains("etc/a.toml:6: limits.idle = 1: must be"), "{found}");
    assert_eq!(found.matches("is not TOML").count(), 3, "{found}");
    // Where a text is read by no declared tables, it is not read at all.
    let found = read("a = \nb = 1", "a.toml", |_| -> Option<()> { unreachable!() });
    assert!(found.unwrap_err().to_string().starts_with("a.toml:1: is not TOML: "));
}

#[test]
fn a_key_set_twice_is_a_mistake() {
    let found = gate("[limits]\nidle = \"1s\"\nidle = \"2s\"", &[]).unwrap_err();
    assert!(found.contains("etc/a.toml:3: is not TOML: duplicate key"), "{found}");
}

#[test]
fn whole_numbers_have_underscores_and_radixes() {
    let number = |text: &str| {
        read(&format!("n = {text}"), "a.toml", |root| root.get("n")?.integer(0..=i64::MAX))
    };
    for (text, expected) in [("1_000", 1_000), ("0x1_0", 16), ("0b11", 3), ("+7", 7)] {
        assert_eq!(number(text).unwrap(), expected, "{text}");
    }
    for (text, remedy) in [
        ("-1", "n = -1: must be a whole number of at least 0; try 0"),
        ("1.5", "n = 1.5: must be a whole number of at least 0; write digits only"),
        ("99999999999999999999", "of at least 0; try 9223372036854775807"),
        ("\"5\"", "leave out the quotes: 5"),
    ] {
        let found = number(text).unwrap_err().to_string();
        assert!(found.contains(remedy), "{found}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics_and_every_mistake_is_one_line(
        section in "(listen|limits|x)",
        key in "(address|idle|[a-z_]{1,9})",
        text in "[\\[\\]a-z\"'=.#{}, \n\\\\0-9x_-]{0,200}",
        noise in "\\PC{0,40}",
    ) {
        for text in [text.clone(), format!("[{section}]\n{key} = {text}\n{noise}")] {
            for line in gate(&text, &[]).unwrap_err().lines() {
                let place = line.starts_with("etc/a.toml");
                proptest::prop_assert!(place && !line.contains(char::is_control), "{line:?}");
            }
        }
    }
}

/// Tables and lists of a table of which a reader decides what to read.
mod nested {
    use tidegate_config::Preset::{Is, Unset};
    use tidegate_config::{Keys, List, Number, OrTable, PlainOrTable, Subtable, Time, keys, read};

    keys! {
        /// A run.
        static RUN: RunKeys {
            /// How heavy.
            loads: List<Number>(Number(0.5, 8.0)) = Is("1, 2.5");
            /// How long.
            think: OrTable<Time>(Time("0s", "1h")) = Is("7s");
            /// Where.
            gate: Subtable = Unset;
            /// Who.
            people: List<Subtable>(Subtable) = Unset;
        }
    }

    fn loads(text: &str) -> Result<Vec<f64>, String> {
        read(text, "a.toml", |root| Some(root.field(&RUN.loads)))
            .map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn every_wrong_entry_of_a_list_is_a_mistake_at_its_line() {
        assert_eq!(loads(""), Ok(vec![1.0, 2.5]));
        assert_eq!(loads("loads = [4]"), Ok(vec![4.0]));
        assert_eq!(
            loads("loads = [\n0,\n4,\n\"2\"]").unwrap_err(),
            "a.toml:2: loads[0] = 0: must be a number of 0.5 to 8; try 0.5\n\
             a.toml:4: loads[2] = \"2\": must be a number of 0.5 to 8; leave out the quotes: 2"
        );
        assert_eq!(
            loads("loads = 4").unwrap_err(),
            "a.toml:1: loads = 4: must be a list of numbers; write [ ... ]"
        );
    }

    #[test]
    fn a_plain_value_or_a_table_is_read_as_it_stands() {
        let think = |text: &str| {
            let found = read(text, "a.toml", |root| {
                Some(match root.read(&RUN.think)? {
                    PlainOrTable::Plain(time) => format!("{time:?}"),
                    PlainOrTable::Table(table) => format!("{} entries", table.entries().len()),
                })
            });
            found.map_err(|mistakes| mistakes.to_string())
        };
        assert_eq!(think("").unwrap(), "7s");
        assert_eq!(think("think = \"1s\"").unwrap(), "1s");
        assert_eq!(think("think = { mean = 1 }").unwrap(), "1 entries");
        let found = think("think = \"2h\"").unwrap_err();
        assert!(found.ends_with("must be a duration of 0s to 1h; try \"1h\""), "{found}");
    }

    #[test]
    fn a_table_that_is_none_is_a_mistake_and_has_no_entries() {
        let gate = |text: &str| {
            read(text, "a.toml", |root| {
                root.given(&RUN.people);
                Some(root.inner(&RUN.gate).get("cores").and_then(|cores| cores.integer(1..=9)))
            })
            .map_err(|mistakes| mistakes.to_string())
        };
        assert_eq!(gate("gate.cores = 2"), Ok(Some(2)));
        assert_eq!(gate(""), Ok(None));
        let found = gate("gate = 2\npeople = [{}, 3]").unwrap_err();
        assert_eq!(
            found,
            "a.toml:1: gate = 2: must be a table; write { key = value }\n\
             a.toml:2: people[1] = 3: must be a table; write { key = value }"
        );
    }

    #[test]
    fn rules_of_rules_are_shown_with_both() {
        let rows = RUN.table().rows;
        let shown: Vec<_> = rows
            .iter()
            .map(|row| [row.kind.as_str(), row.range.as_str(), row.preset.as_str()])
            .collect();
        assert_eq!(
            shown,
            [
                ["list of numbers", "0.5 to 8", "`[1, 2.5]`"],
                ["duration or table", "0s to 1h; tables see below", "`\"7s\"`"],
                ["table", "see below", "not set"],
                ["list of tables", "see below", "not set"],
            ]
        );
    }
}
