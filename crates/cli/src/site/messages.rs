//! `tidegate site messages`: the message service.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tidegate_host::Cores;
use tidegate_messages::{Format, Keys, Options, Tls, TlsVersion};

use super::error::classify;
use super::serving::until_signalled;
use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate site messages`.
#[derive(clap::Args)]
pub struct Args {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// How each message is secured: none, jose, cose, http-signatures or xml
    #[arg(long, value_name = "FORMAT", default_value = "none")]
    security: Format,
    /// The server's keys, with every security but none
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Write new keys of both parties to client.json and server.json in this folder, and end
    #[arg(long, value_name = "DIR", exclusive = true)]
    make_keys: Option<PathBuf>,
    /// Serve HTTPS with these versions of TLS: 1.2, 1.3 or both [default: plain HTTP]
    #[arg(long, value_name = "VERSIONS")]
    tls: Option<TlsVersion>,
    /// Certificate chain for --tls, PEM [default: a self-signed one, made at the start]
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Processors to run on, one thread pinned to each, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
}

/// Serves until SIGTERM or SIGINT, then prints what was answered and refused.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    if let Some(folder) = args.make_keys {
        return make_keys(&folder);
    }
    let files = args.certificate.zip(args.key);
    let options = Options {
        listen: args.listen,
        format: args.security,
        keys: args.keys,
        tls: args.tls.map(|version| Tls { version, files, resumption: true, clients: None }),
        cores: args.cores.map(|cores| cores.list().to_vec()),
    };
    let site = tidegate_messages::start(&options).map_err(classify)?;
    until_signalled(format!("site: {}\n", site.url()))?;
    print(format!("answered: {}\n", site.counters().answered()))?;
    for (reason, count) in site.counters().refused() {
        print(format!("refused, {reason}: {count}\n"))?;
    }
    site.shutdown();
    Ok(Outcome::Done)
}

fn make_keys(folder: &Path) -> anyhow::Result<Outcome> {
    std::fs::create_dir_all(folder).map_err(|error| {
        bad_input(format!("--make-keys {}: cannot be created: {error}", folder.display()))
    })?;
    let files = ["client.json", "server.json"].map(|name| folder.join(name));
    // Keys of two makings do not belong together.
    if let Some(there) = files.iter().find(|path| path.exists()) {
        return Err(bad_input(format!(
            "--make-keys {}: {} is there already; give another folder",
            folder.display(),
            there.display()
        )));
    }
    let (client, server) = Keys::generate().map_err(classify)?;
    for (keys, path) in [client, server].iter().zip(&files) {
        keys.write(path).map_err(classify)?;
        print(format!("{}\n", path.display()))?;
    }
    Ok(Outcome::Done)
}
