//! The Java client of the messages service, and the keys of both sides.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{self, Services};
use tidegate_control::CertificateKey;

use crate::certificate::Certificate;
use crate::error::{Fault, Result};

/// The variable that names the folder of the keys, to Tomcat and to the client.
const VARIABLE: &str = "MESSAGES_KEYS";

/// The keys of both sides for signed and encrypted messages, in one folder: RSA, since a message's
/// key is encrypted with them.
#[derive(Clone, Debug)]
pub struct MessagesKeys {
    folder: PathBuf,
}

impl MessagesKeys {
    /// Makes the keys and writes them into `folder`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn make(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .of_machine(format_args!("cannot create {}", folder.display()))?;
        for side in ["server", "client"] {
            Certificate::make_named(side, CertificateKey::Rsa2048, folder)?;
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// The keys in `folder`, which are made if they are not there.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(folder: &Path) -> Result<Self> {
        // Tomcat runs elsewhere.
        let folder = &std::path::absolute(folder).of_machine("no current folder")?;
        // The last file that is written.
        if folder.join("client.key").exists() {
            return Ok(Self { folder: folder.clone() });
        }
        Self::make(folder)
    }

    /// The environment variable for [`super::TomcatSetup::env`].
    pub fn env(&self) -> (String, String) {
        (VARIABLE.to_owned(), self.folder.display().to_string())
    }
}

/// The client, without arguments: `--url URL [--security none|soap|wss] [--ca FILE]`, and a series
/// `--requests N --clients C --payload BYTES --connection keep|resumed|new`. Without a series, each
/// line of standard input is one, and the end of it ends the client. Paths of the service are
/// `/small.jsp` for `none`, `/soap` for `soap` and `/secure` for `wss`. After a series the client
/// writes a JSON object per request on standard output: `{"request": n, "us": microseconds,
/// "bytes_out": n, "bytes_in": n}`, and `{"cpu_us": microseconds}` of its threads. Options of the Java
/// virtual machine go into `jvm`.
///
/// # Errors
/// [`Error::Operator`](crate::Error::Operator) if there is no Java, or the client was not built.
pub fn messages_client(
    services: &Services,
    keys: Option<&MessagesKeys>,
    jvm: &[String],
) -> Result<Command> {
    let classes = services.unpacked("messages")?;
    let classes = classes.display();
    let mut command = Command::new(files::java()?);
    command.args(jvm);
    command.arg("-classpath").arg(format!("{classes}/classes:{classes}/lib/*"));
    command.arg("tidegate.messages.client.Main");
    if let Some(keys) = keys {
        command.env(VARIABLE, &keys.folder);
    }
    Ok(command)
}
