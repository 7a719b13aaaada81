//! Running services, and curl.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use tidegate_b2b::{Options, Site, start};
use tidegate_sitekit::server::available_cores;
use tidegate_sitekit::tls::Tls;

/// Services of ten businesses with a hundred items.
pub struct World {
    _folder: TempDir,
    site: Site,
    scheme: &'static str,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The code of a refusal, in JSON or in a fault of SOAP.
    pub fn code(&self) -> String {
        let in_envelope = self.body.split("<b:code>").nth(1).and_then(|it| it.split('<').next());
        match in_envelope {
            Some(code) => code.to_owned(),
            None => self.json()["error"]["code"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

impl World {
    pub fn new() -> Self {
        Self::with(|_| None)
    }

    /// With TLS as a folder for its files has it.
    pub fn with(tls: impl FnOnce(&Path) -> Option<Tls>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tls = tls(folder.path());
        let scheme = if tls.is_some() { "https" } else { "http" };
        let site = start(&Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            data: folder.path().join("data"),
            scale: Some(0.01),
            tls,
            cores: Some(vec![available_cores()[0]]),
            ..Options::default()
        })
        .unwrap();
        Self { _folder: folder, site, scheme }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.site.address())
    }

    /// What curl gets with these arguments.
    pub fn curl(&self, path: &str, arguments: &[&str]) -> Answer {
        let mut command = Command::new("curl");
        command.args(["--silent", "--max-time", "20", "--write-out", "\n%{http_code}"]);
        let output = command.args(arguments).arg(self.url(path)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        Answer { status: status.parse().unwrap(), body: body.to_owned() }
    }

    /// Business 3 asks a service by JSON.
    pub fn ask(&self, service: &str, body: &str) -> Answer {
        let path = format!("/services/{service}");
        let arguments = [
            "--header",
            "Authorization: Bearer token3",
            "--header",
            "Content-Type: application/json",
            "--data-binary",
            body,
        ];
        self.curl(&path, &arguments)
    }

    /// Business 3 sends an envelope.
    pub fn send(&self, envelope: &str) -> Answer {
        let arguments = [
            "--header",
            "Authorization: Bearer token3",
            "--header",
            "Content-Type: application/soap+xml; charset=utf-8",
            "--data-binary",
            envelope,
        ];
        self.curl("/soap", &arguments)
    }
}

/// An envelope with this in its body.
pub fn envelope(content: &str) -> String {
    format!(
        "<e:Envelope xmlns:e=\"http://www.w3.org/2003/05/soap-envelope\" xmlns=\"urn:tidegate:b2b\">\
         <e:Body>{content}</e:Body></e:Envelope>"
    )
}
