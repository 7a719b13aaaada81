//! Where the built services and the programs that run them are.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::REMEDY;
use crate::error::{Error, Fault, Result};

/// The oldest Node that has what the service uses (`util.parseArgs`), as major and minor version.
const OLDEST_NODE: (u32, u32) = (18, 3);

/// Where Debian and Ubuntu install Tomcat 10 (`tomcat10-common`).
const TOMCAT: &str = "/usr/share/tomcat10";

/// The folder `services` of the repository.
#[derive(Clone, Debug)]
pub struct Services {
    folder: PathBuf,
}

impl Services {
    /// The folder that `TIDEGATE_SERVICES` names, else `services` in the working directory or
    /// the nearest folder above it that has one.
    ///
    /// # Errors
    /// [`Error::Operator`] if there is none.
    pub fn find() -> Result<Self> {
        if let Some(folder) = std::env::var_os("TIDEGATE_SERVICES") {
            return Self::at(Path::new(&folder));
        }
        let here = std::env::current_dir().unwrap_or_default();
        let found = here.ancestors().map(|above| above.join("services"));
        let found = found.into_iter().find(|folder| folder.join("pom.xml").exists());
        found.map(|folder| Self { folder }).ok_or_else(|| {
            let here = here.display();
            Error::Operator(format!(
                "neither {here} nor a folder above it has the folder services: run this in a \
                 checkout of the repository, or set TIDEGATE_SERVICES to that folder"
            ))
        })
    }

    /// This folder.
    ///
    /// # Errors
    /// [`Error::Operator`] if it does not have the services' sources.
    pub fn at(folder: &Path) -> Result<Self> {
        if folder.join("pom.xml").exists() {
            return Ok(Self { folder: folder.to_owned() });
        }
        let folder = folder.display();
        Err(Error::Operator(format!(
            "TIDEGATE_SERVICES = {folder}: has no pom.xml; set it to the folder services of the repository"
        )))
    }

    /// The web application of this name as it was built.
    ///
    /// # Errors
    /// [`Error::Operator`] if it was not built.
    pub fn war(&self, name: &str) -> Result<PathBuf> {
        self.existing(&self.folder.join(name).join("target").join(format!("{name}.war")))
    }

    /// The unpacked web application of this name.
    ///
    /// # Errors
    /// [`Error::Operator`] if it was not built.
    pub fn unpacked(&self, name: &str) -> Result<PathBuf> {
        self.existing(&self.folder.join(name).join("target").join(name).join("WEB-INF"))
    }

    /// The program of the Node service.
    ///
    /// # Errors
    /// [`Error::Operator`] if it is not there.
    pub fn node_server(&self) -> Result<PathBuf> {
        self.existing(&self.folder.join("node/server.mjs"))
    }

    fn existing(&self, path: &Path) -> Result<PathBuf> {
        if path.exists() {
            return Ok(path.to_owned());
        }
        Err(Error::Operator(format!("{} is not there: {REMEDY}", path.display())))
    }
}

/// The program of this name in `PATH`.
///
/// # Errors
/// [`Error::Operator`] if there is none.
pub fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = found.into_iter().find(|file| file.is_file());
    found.ok_or_else(|| Error::Operator(format!("there is no {name} in PATH: {REMEDY}")))
}

/// The program `java`: that of `JAVA_HOME`, else the one in `PATH`.
///
/// # Errors
/// [`Error::Operator`] if there is none.
pub fn java() -> Result<PathBuf> {
    let Some(home) = std::env::var_os("JAVA_HOME") else { return program("java") };
    let java = Path::new(&home).join("bin/java");
    if java.is_file() {
        return Ok(java);
    }
    let home = Path::new(&home).display();
    Err(Error::Operator(format!("JAVA_HOME = {home}: has no bin/java; unset it, or {REMEDY}")))
}

/// The program `node`, of a version that the service runs on.
///
/// # Errors
/// [`Error::Operator`] if there is none, or it is older.
pub fn node() -> Result<PathBuf> {
    let node = program("node")?;
    let output = Command::new(&node).arg("--version").output();
    let output = output.of_process(format_args!("cannot run {}", node.display()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if is_recent(&version) {
        return Ok(node);
    }
    let (major, minor) = OLDEST_NODE;
    Err(Error::Operator(format!(
        "{} is Node {version}, and the service needs {major}.{minor} or newer: put a newer node in PATH",
        node.display()
    )))
}

/// Whether a version such as `v18.19.0` is new enough.
fn is_recent(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= OLDEST_NODE,
        _ => false,
    }
}

/// The folder of Tomcat: `CATALINA_HOME`, else where the package installs it.
///
/// # Errors
/// [`Error::Operator`] if Tomcat is not there.
pub fn tomcat() -> Result<PathBuf> {
    let home =
        std::env::var_os("CATALINA_HOME").map_or_else(|| PathBuf::from(TOMCAT), PathBuf::from);
    if home.join("bin/bootstrap.jar").exists() {
        return Ok(home);
    }
    Err(Error::Operator(format!(
        "there is no Tomcat 10 in {}: {REMEDY}; where no package has it, unpack Apache Tomcat 10.1 \
         and set CATALINA_HOME to its folder",
        home.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_built_is_an_error_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let error = Services::at(folder.path()).unwrap_err().to_string();
        assert!(error.contains("has no pom.xml"), "{error}");
        std::fs::write(folder.path().join("pom.xml"), "").unwrap();
        let services = Services::at(folder.path()).unwrap();
        let error = services.war("auction").unwrap_err().to_string();
        assert!(error.contains("auction/target/auction.war is not there"), "{error}");
        assert!(error.contains("scripts/services"), "{error}");
        assert!(services.node_server().is_err() && services.unpacked("messages").is_err());
    }

    #[test]
    fn a_node_before_its_time_is_not_recent() {
        let recent = |version| is_recent(version);
        assert!(recent("v18.3.0") && recent("v20.20.2") && recent("v100.0.0"));
        assert!(!recent("v18.2.9") && !recent("v12.22.9") && !recent("") && !recent("node"));
    }

    #[test]
    fn a_program_that_is_nowhere_names_the_bootstrap() {
        let error = program("no-such-program").unwrap_err().to_string();
        assert!(error.contains("no no-such-program in PATH: scripts/bootstrap study"), "{error}");
        assert!(program("sh").unwrap().ends_with("sh"));
    }
}
