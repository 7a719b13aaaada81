//! Tomcat 10 with web applications, in a folder of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tidegate_host::Cores;
use tidegate_load::{Stop, TlsVersions};

use super::files;
use super::ready::{START, wait_until_ok};
use super::server_xml::{App, Connectors, LOGGING, WEB_XML, is_text, server_xml};
use crate::address::free_address;
use tidegate_control::CertificateKey;

use crate::certificate::Certificate;
use crate::error::{Error, Fault, Result};
use crate::process::{Launch, Process};

/// Time from SIGTERM to SIGKILL: Tomcat stops its applications in it.
const GRACE: Duration = Duration::from_secs(10);

/// How a Tomcat is set up.
#[derive(Clone, Debug)]
pub struct TomcatSetup {
    /// Processors that it may use. For parts of one, add its process to a [`crate::Quota`].
    pub cores: Cores,
    /// The applications.
    pub apps: Vec<App>,
    /// Path that is answered with status 200 once everything is ready.
    pub ready: String,
    /// Size of the heap, in MiB; it neither grows nor shrinks.
    pub heap_mib: u32,
    /// Most threads of each connector.
    pub threads: u32,
    /// How long a connection may be silent before a request.
    pub timeout: Duration,
    /// Kind of key of the certificate.
    pub key: CertificateKey,
    /// Versions of TLS.
    pub versions: TlsVersions,
    /// Further options of the Java virtual machine.
    pub jvm: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
}

impl TomcatSetup {
    /// One application at the root: 100 threads and a timeout of 10 s, the settings of the study
    /// of 2007, a heap of 512 MiB and a certificate with an RSA key.
    pub fn new(cores: &Cores, war: &Path, ready: &str) -> Self {
        Self {
            cores: cores.clone(),
            apps: vec![App { path: String::new(), war: war.to_owned() }],
            ready: ready.to_owned(),
            heap_mib: 512,
            threads: 100,
            timeout: Duration::from_secs(10),
            key: CertificateKey::Rsa2048,
            versions: TlsVersions::Both,
            jvm: Vec::new(),
            env: Vec::new(),
        }
    }
}

/// A running Tomcat. It ends when this is dropped; its folder stays.
#[derive(Debug)]
pub struct Tomcat {
    process: Process,
    clear: SocketAddr,
    secure: SocketAddr,
    gc_log: PathBuf,
}

impl Tomcat {
    /// The folder of the program: `CATALINA_HOME`, else where the package installs it.
    ///
    /// # Errors
    /// [`Error::Operator`] if Tomcat is not there.
    pub fn home() -> Result<PathBuf> {
        files::tomcat()
    }

    /// Writes the configuration into `folder` (Tomcat's `CATALINA_BASE`), starts Tomcat there and
    /// waits until it answers, for two minutes at most. `folder/tomcat.log` and `folder/gc.log`
    /// keep what it and its garbage collector report.
    ///
    /// # Errors
    /// [`Error::Operator`] if Java or Tomcat is not installed or an application was not built;
    /// [`Error::Machine`] if the folder cannot be written; [`Error::Process`] if Tomcat does not
    /// start, with the end of its log, or the operator stops the run meanwhile.
    pub fn start(setup: &TomcatSetup, folder: &Path, stop: &Stop) -> Result<Self> {
        let (java, home) = (files::java()?, Self::home()?);
        if let Some(app) = setup.apps.iter().find(|app| !app.war.exists()) {
            return Err(Error::Operator(format!(
                "{} is not there: {}",
                app.war.display(),
                super::REMEDY
            )));
        }
        let base = make_base(folder)?;
        let certificate = Certificate::make(setup.key, &base.join("conf"))?;
        let (clear, secure) = (free_address()?, free_address()?);
        let connectors = Connectors {
            clear,
            secure,
            certificate: &certificate,
            rsa: setup.key == CertificateKey::Rsa2048,
            versions: setup.versions,
            threads: setup.threads,
            timeout: setup.timeout,
        };
        for (name, text) in [
            ("server.xml", server_xml(&connectors, &setup.apps).as_str()),
            ("web.xml", WEB_XML),
            ("logging.properties", LOGGING),
        ] {
            let path = base.join("conf").join(name);
            std::fs::write(&path, text).of_writing(&path)?;
        }
        let gc_log = base.join("gc.log");
        let mut launch = Launch::new("Tomcat", command(&java, &home, &base, &gc_log, setup))
            .on(&setup.cores)
            .grace(GRACE)
            .log(&base.join("tomcat.log"))?;
        for (name, value) in &setup.env {
            launch = launch.env(name, value);
        }
        let mut process = launch.start()?;
        wait_until_ok(&mut process, clear, &setup.ready, START, stop)?;
        Ok(Self { process, clear, secure, gc_log })
    }

    /// The URL of plain HTTP, for a gate before it.
    pub fn url(&self) -> String {
        format!("http://{}", self.clear)
    }

    /// The URL of Tomcat's own TLS.
    pub fn secure_url(&self) -> String {
        format!("https://{}", self.secure)
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// CPU seconds that it has used since its start, those of the compiler and the garbage
    /// collector included.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu_s(&self) -> Result<f64> {
        Ok(self.process.cpu_time()?.as_secs_f64())
    }

    /// The log of the garbage collector, for [`GcPauses`](super::GcPauses).
    pub fn gc_log(&self) -> &Path {
        &self.gc_log
    }
}

/// Creates the folders of a Tomcat and returns the absolute path.
fn make_base(folder: &Path) -> Result<PathBuf> {
    // What an earlier Tomcat has unpacked here may be another version of the application.
    for name in ["webapps", "work"] {
        let old = folder.join(name);
        if old.exists() {
            std::fs::remove_dir_all(&old)
                .of_machine(format_args!("cannot remove {}", old.display()))?;
        }
    }
    for name in ["conf", "webapps", "work", "temp"] {
        let new = folder.join(name);
        std::fs::create_dir_all(&new)
            .of_machine(format_args!("cannot create {}", new.display()))?;
    }
    let base =
        folder.canonicalize().of_machine(format_args!("cannot read {}", folder.display()))?;
    if is_text(&base) {
        return Ok(base);
    }
    Err(Error::Operator(format!(
        "the folder {} has a name that a configuration file cannot hold; choose another",
        base.display()
    )))
}

/// What Tomcat's own script would run, without its shell.
fn command(java: &Path, home: &Path, base: &Path, gc_log: &Path, setup: &TomcatSetup) -> Command {
    let (home, base) = (home.display(), base.display());
    let mut command = Command::new(java);
    command.args([
        format!("-Xms{}m", setup.heap_mib),
        format!("-Xmx{}m", setup.heap_mib),
        format!("-Xlog:gc:file={}:timenanos", gc_log.display()),
    ]);
    for package in [
        "java.base/java.lang",
        "java.base/java.io",
        "java.base/java.util",
        "java.base/java.util.concurrent",
        "java.rmi/sun.rmi.transport",
    ] {
        command.arg(format!("--add-opens={package}=ALL-UNNAMED"));
    }
    command.args(&setup.jvm);
    command.args([
        format!("-Dcatalina.home={home}"),
        format!("-Dcatalina.base={base}"),
        format!("-Djava.io.tmpdir={base}/temp"),
        format!("-Djava.util.logging.config.file={base}/conf/logging.properties"),
        "-Djava.util.logging.manager=org.apache.juli.ClassLoaderLogManager".to_owned(),
        "-classpath".to_owned(),
        format!("{home}/bin/bootstrap.jar:{home}/bin/tomcat-juli.jar"),
        "org.apache.catalina.startup.Bootstrap".to_owned(),
        "start".to_owned(),
    ]);
    command.current_dir(base.to_string());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_that_was_not_built_is_an_error_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let cores = Cores::of_this_thread().unwrap().only(0).unwrap();
        let setup = TomcatSetup::new(&cores, &folder.path().join("auction.war"), "/healthz");
        // Whichever is missing first: Java, Tomcat or the application.
        let error = Tomcat::start(&setup, folder.path(), &Stop::default()).unwrap_err();
        assert!(error.to_string().contains("make study"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_folder_that_was_used_before_keeps_no_application() {
        let folder = tempfile::tempdir().unwrap();
        let base = make_base(folder.path()).unwrap();
        std::fs::write(base.join("webapps/old.war"), "").unwrap();
        make_base(folder.path()).unwrap();
        assert!(base.join("webapps").exists() && !base.join("webapps/old.war").exists());
    }
}
