//! Keys of the links.

use std::path::Path;

use tidegate_sitekit::link::{Cipher, KeyRing};

use super::super::error::classify;
use crate::exit::Outcome;
use crate::stdout::print;

/// Makes a file with a new key, or adds one to a file.
pub fn make_key(file: &Path, cipher: Cipher) -> anyhow::Result<Outcome> {
    let name = new_name();
    if file.exists() {
        let mut ring = KeyRing::read(file).map_err(classify)?;
        ring.add(&name, cipher).and_then(|()| ring.write(file)).map_err(classify)?;
        print(format!(
            "{}: the key {name} was added; it opens messages, and seals them when it is the \
             first of the file\n",
            file.display()
        ))?;
    } else {
        KeyRing::generate(&name, cipher).and_then(|ring| ring.write(file)).map_err(classify)?;
        print(format!("{}: the key {name} was made\n", file.display()))?;
    }
    Ok(Outcome::Done)
}

/// A name that says when the key was made.
fn new_name() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y%m%dT%H%M%S%.3f").to_string()
}
