//! The Java client of the messages service.

use std::process::Command;

use super::files::{self, Services};
use crate::error::Result;

/// The client, without arguments: `--url URL --requests N --clients C --payload BYTES
/// --connection keep|new [--security none|wss]`. It writes a JSON object per request on standard
/// output: `{"request": n, "us": microseconds, "bytes_out": n, "bytes_in": n}`. Options of the
/// Java virtual machine go into `jvm`.
///
/// # Errors
/// [`Error::Operator`](crate::Error::Operator) if there is no Java, or the client was not built.
pub fn messages_client(services: &Services, jvm: &[String]) -> Result<Command> {
    let classes = services.unpacked("messages")?;
    let classes = classes.display();
    let mut command = Command::new(files::java()?);
    command.args(jvm);
    command.arg("-classpath").arg(format!("{classes}/classes:{classes}/lib/*"));
    command.arg("tidegate.messages.client.Main");
    Ok(command)
}
