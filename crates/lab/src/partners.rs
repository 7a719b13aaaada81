//! The partners of a business that are started beside it: `tidegate site partners`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::process::Launch;
use crate::service::Service;

/// Partners that are ready. They end when this is dropped.
#[derive(Debug)]
pub struct Partners {
    /// Their process.
    pub service: Service,
    /// Address and port.
    pub address: String,
    /// Folder of their certificates, in which that of the business is as well.
    pub certificates: PathBuf,
}

impl Partners {
    /// Starts them: `launch` is this program. The folder, which is made, keeps their data; `more`
    /// are further flags, such as `--validation` with its settings.
    ///
    /// # Errors
    /// They do not start; with the last lines of their log.
    pub fn start(
        launch: Launch,
        folder: &Path,
        listen: SocketAddr,
        more: &[String],
    ) -> Result<Self> {
        let (data, listen) = (folder.display().to_string(), listen.to_string());
        let args = ["site", "partners", "--data", &data, "--listen", &listen, "--log", "warn"];
        let args = args.map(String::from).into_iter().chain(more.iter().cloned());
        let service = Service::start(launch.args(args))?;
        let address = service.address("site")?.to_owned();
        let certificates = PathBuf::from(service.address("certificates")?);
        Ok(Self { service, address, certificates })
    }
}
