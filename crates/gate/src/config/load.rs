//! Reads the configuration from a file, from flags or both, checks it as a whole
//! and reports every mistake at once.

use super::checked::Config;
use super::fields::{
    AccessLog, Admin, Admission, Fleet, Limits, Listen, Log, StaticTier, Tls, Trace, Upstream,
    tables,
};
use super::files::Files;
use super::flags::Flags;
use super::{pools, routes, together};
use std::io::Read;
use std::path::Path;
use tidegate_config::{Mistake, Mistakes, Section, Settings, one_line, read_with_flags};

/// Source of a configuration without a file.
const COMMAND_LINE: &str = "command line";

/// Largest configuration file that is read, in bytes.
const FILE_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Every mistake, in the order of the file.
    pub fn from_file(path: &Path) -> Result<Self, Mistakes> {
        Self::from_file_and_flags(path, &Flags::default())
    }

    /// Reads a file; flags go before what it says.
    ///
    /// # Errors
    /// Every mistake, in the order of the file, then those of the flags.
    pub fn from_file_and_flags(path: &Path, flags: &Flags) -> Result<Self, Mistakes> {
        let text = read_text(path)?;
        read(Some((&path.display().to_string(), &text)), flags)
    }

    /// Reads the text of a file; `name` is used in messages, and relative paths
    /// of other files start in its folder.
    ///
    /// # Errors
    /// Every mistake, in the order of the text.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, Mistakes> {
        read(Some((name, text)), &Flags::default())
    }

    /// Makes a configuration of flags alone.
    ///
    /// # Errors
    /// Every mistake.
    pub fn from_flags(flags: &Flags) -> Result<Self, Mistakes> {
        read(None, flags)
    }
}

fn read(file: Option<(&str, &str)>, flags: &Flags) -> Result<Config, Mistakes> {
    read_with_flags(file, &flags.all(), |root| {
        root.known_tables(&tables(), &[pools::POOLS, routes::ROUTES]);
        // Mistakes without a line stand in the order in which the tables are read.
        let (listen, tls) = (table::<Listen>(root), table::<Tls>(root));
        let upstream = table::<Upstream>(root);
        let named_pools = pools::read(root, &upstream);
        let mut config = Config {
            listen,
            tls,
            routes: routes::read(root, &upstream, &named_pools),
            named_pools,
            static_tier: table::<StaticTier>(root),
            upstream,
            admission: table::<Admission>(root),
            limits: table::<Limits>(root),
            admin: table::<Admin>(root),
            log: table::<Log>(root),
            access_log: table::<AccessLog>(root),
            trace: table::<Trace>(root),
            fleet: table::<Fleet>(root),
            files: Files::default(),
            source: file.map_or(COMMAND_LINE, |(name, _)| name).to_owned(),
        };
        together::check(&config, root);
        let wrong = |key: &str, _: &Path, problem| root.wrong_key(key, problem);
        config.read_files(&|key| root.reader.is_sound(key), &wrong);
        Some(config)
    })
}

fn table<T: Settings>(root: &Section<'_>) -> T {
    T::read(&root.table_or_empty(T::NAME))
}

/// Reads a configuration file as text.
fn read_text(path: &Path) -> Result<String, Mistakes> {
    let mistake = |rule: String, remedy: &str| {
        Mistakes(vec![Mistake {
            place: one_line(&path.display().to_string()),
            key: String::new(),
            value: String::new(),
            rule,
            remedy: remedy.into(),
        }])
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| mistake(format!("cannot be read ({error})"), "name a readable file"))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(mistake("is larger than 1 MiB".into(), "name a configuration file"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        mistake(format!("line {line} is not UTF-8"), "save the file as UTF-8 text")
    })
}
