//! The message services: our own in each of its formats, and a page and a SOAP service on Tomcat.

use std::path::{Path, PathBuf};

use tidegate_host::Cores;
use tidegate_lab::services::{MessagesKeys, Services, Tomcat, TomcatSetup, messages_client};
use tidegate_lab::{Certificate, CertificateKey, Process, Service};
use tidegate_load::Stop;
use tidegate_messages::{Channel, Format, Keys, Party};

use super::{System, Workshop, of_this_program};
use crate::experiment::{Combination, Settings};
use crate::folder::MAKE_ROOM;
use crate::{Error, Result};

/// A message service with its kind of security.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    /// What answers.
    pub server: Server,
    /// Whether its connections use TLS.
    pub is_tls: bool,
}

/// What answers messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Server {
    /// Our own service, with messages in this format.
    Own(Format),
    /// Tomcat: the path that answers, and the client's word for the security of its messages.
    Tomcat(&'static str, &'static str),
}

const fn own(name: &'static str, format: Format, is_tls: bool) -> Configuration {
    Configuration { name, server: Server::Own(format), is_tls }
}

const fn tomcat(
    name: &'static str,
    (path, security): (&'static str, &'static str),
    is_tls: bool,
) -> Configuration {
    Configuration { name, server: Server::Tomcat(path, security), is_tls }
}

const CONFIGURATIONS: [Configuration; 10] = [
    own("rust-clear", Format::None, false),
    own("rust-https", Format::None, true),
    own("rust-jose", Format::Jose, false),
    own("rust-cose", Format::Cose, false),
    own("rust-http-signatures", Format::HttpSignatures, false),
    own("rust-xml", Format::Xml, false),
    tomcat("jsp-clear", ("/small.jsp", "none"), false),
    tomcat("jsp-https", ("/small.jsp", "none"), true),
    tomcat("soap-clear", ("/soap", "soap"), false),
    tomcat("soap-wss", ("/secure", "wss"), false),
];

impl Configuration {
    /// That of these settings; none of another site.
    pub fn of(settings: &Settings) -> Option<Self> {
        let name = settings.configuration.as_ref().filter(|_| settings.is_of_messages())?;
        CONFIGURATIONS.into_iter().find(|it| it.name == name)
    }

    fn is_on_java(self) -> bool {
        matches!(self.server, Server::Tomcat(..))
    }
}

impl Workshop {
    /// Our own keys of a party.
    fn keys(&self, party: Party) -> PathBuf {
        self.shared.join("messages").join(format!("{}.json", party.name()))
    }

    /// What the client of our own service needs: its end of the messages, and the certificate
    /// that it trusts.
    ///
    /// # Errors
    /// The keys cannot be read.
    pub fn message_client(&self, settings: &Settings, format: Format) -> Result<(Channel, &Path)> {
        let channel = match format {
            Format::None => Channel::unprotected(Party::Client),
            _ => Channel::new(format, Keys::read(&self.keys(Party::Client), Party::Client)?)?,
        };
        Ok((channel, &self.certificate(&settings.certificate)?.chain))
    }

    /// The keys of both parties of the service on Tomcat.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn java_keys(&self) -> Result<MessagesKeys> {
        MessagesKeys::open(&self.shared.join("messages-java"))
    }
}

/// Makes the keys of both parties of our own service if they are not there.
///
/// # Errors
/// They cannot be written.
pub(super) fn prepare(workshop: &Workshop) -> Result<()> {
    let [client, server] = [Party::Client, Party::Server].map(|party| workshop.keys(party));
    if client.exists() {
        return Ok(());
    }
    let folder = workshop.shared.join("messages");
    std::fs::create_dir_all(&folder).map_err(|error| {
        Error::Machine(format!("cannot create {}: {error}; {MAKE_ROOM}", folder.display()))
    })?;
    let (of_client, of_server) = Keys::generate()?;
    of_server.write(&server)?;
    Ok(of_client.write(&client)?)
}

/// Leaves out message services on Java where they are not wanted, or where Java, Tomcat or the
/// services are missing; with a note.
///
/// # Errors
/// [`Error::Operator`]: nothing is left.
pub fn leave_out_java(
    combinations: &mut Vec<Combination>,
    unwanted: bool,
) -> Result<Option<String>> {
    let is_on_java =
        |one: &Combination| Configuration::of(&one.settings).is_some_and(Configuration::is_on_java);
    if !combinations.iter().any(is_on_java) {
        return Ok(None);
    }
    let note = if unwanted {
        "The configurations on Java were left out by --without-java.".to_owned()
    } else {
        match find_java() {
            Ok(()) => return Ok(None),
            Err(Error::Operator(text)) => {
                format!("The configurations on Java are left out: {text}.")
            }
            Err(other) => return Err(other),
        }
    };
    combinations.retain(|one| !is_on_java(one));
    if combinations.is_empty() { Err(Error::Operator(note)) } else { Ok(Some(note)) }
}

/// # Errors
/// [`Error::Operator`]: Java, Tomcat or the services are missing.
fn find_java() -> Result<()> {
    let services = Services::find()?;
    services.war("messages")?;
    Tomcat::home()?;
    messages_client(&services, None, &[]).map(|_| ())
}

/// Starts the service, on Tomcat until the operator stops the study.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
    stop: &Stop,
) -> Result<Box<dyn System>> {
    let configuration = Configuration::of(settings)
        .ok_or_else(|| Error::Internal("no configuration of the message service".into()))?;
    let Server::Own(format) = configuration.server else {
        let war = Services::find()?.war("messages")?;
        let setup = TomcatSetup {
            key: CertificateKey::EcdsaP256,
            env: vec![workshop.java_keys()?.env()],
            ..TomcatSetup::new(cores, &war, "/healthz")
        };
        return Ok(Box::new(Tomcat::start(&setup, &folder.join("tomcat"), stop)?));
    };
    let mut launch = of_this_program("message service", cores, &folder.join("site.log"))?.args([
        "site",
        "messages",
        "--listen",
        "127.0.0.1:0",
        "--security",
        format.name(),
    ]);
    if format != Format::None {
        launch = launch.args(["--keys".into(), workshop.keys(Party::Server)]);
    }
    if configuration.is_tls {
        let Certificate { chain, key, .. } = workshop.certificate(&settings.certificate)?;
        launch = launch.args(["--tls", "1.3", "--certificate"]).args([chain]);
        launch = launch.args(["--key"]).args([key]);
    }
    Ok(Box::new(Service::start(launch)?))
}

impl System for Service {
    fn url(&self, _: bool) -> Result<String> {
        Ok(self.address("site")?.to_owned())
    }

    fn process(&self) -> &Process {
        Self::process(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::BuiltIn;

    #[test]
    fn each_level_of_the_study_is_a_configuration() {
        let study = BuiltIn::named("messages").unwrap().experiment();
        let all = study.combinations(false);
        let found: Vec<_> = all.iter().filter_map(|it| Configuration::of(&it.settings)).collect();
        assert_eq!(found, CONFIGURATIONS);
        assert_eq!(found.iter().filter(|it| it.is_on_java()).count(), 4);
    }

    #[test]
    fn what_is_on_java_is_left_out_with_a_note_and_nothing_else() {
        let study = BuiltIn::named("messages").unwrap().experiment();
        let mut all = study.combinations(false);
        let note = leave_out_java(&mut all, true).unwrap().unwrap();
        assert!(note.contains("--without-java"), "{note}");
        assert_eq!(all.len(), 6);
        assert_eq!(leave_out_java(&mut all, true).unwrap(), None);
    }
}
