//! The configuration files of a Tomcat in an experiment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_load::TlsVersions;

use super::tls_versions::protocols;
use crate::certificate::Certificate;

/// A web application.
#[derive(Clone, Debug)]
pub struct App {
    /// Its context path; empty for the root.
    pub path: String,
    /// Its archive.
    pub war: PathBuf,
}

/// What a connector of Tomcat is configured with.
#[derive(Debug)]
pub struct Connectors<'a> {
    /// Address of plain HTTP.
    pub clear: SocketAddr,
    /// Address of HTTPS.
    pub secure: SocketAddr,
    /// What it presents there.
    pub certificate: &'a Certificate,
    /// Whether its key is one of RSA.
    pub rsa: bool,
    /// Versions of TLS.
    pub versions: TlsVersions,
    /// Most threads of each connector.
    pub threads: u32,
    /// How long a connection may be silent before a request, first or later.
    pub timeout: Duration,
}

/// `conf/server.xml`. Both connectors accept until `threads` are busy, as Tomcat does by itself;
/// the shutdown port is off, since the process is ended by a signal.
pub fn server_xml(connectors: &Connectors<'_>, apps: &[App]) -> String {
    let Connectors { clear, secure, certificate, rsa, versions, threads, timeout } = connectors;
    let common = format!(
        "protocol=\"org.apache.coyote.http11.Http11NioProtocol\" maxThreads=\"{threads}\"\n        \
         connectionTimeout=\"{}\" maxKeepAliveRequests=\"-1\"",
        timeout.as_millis()
    );
    let contexts: String = apps
        .iter()
        .map(|app| {
            format!(
                "        <Context path=\"{}\" docBase=\"{}\"/>\n",
                escaped(&app.path),
                escaped(&app.war.display().to_string())
            )
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<Server port=\"-1\">
  <Service name=\"Catalina\">
    <Connector address=\"{}\" port=\"{}\"
        {common}/>
    <Connector address=\"{}\" port=\"{}\"
        {common}
        SSLEnabled=\"true\" scheme=\"https\" secure=\"true\">
      <SSLHostConfig protocols=\"{}\">
        <Certificate type=\"{}\" certificateFile=\"{}\" certificateKeyFile=\"{}\"/>
      </SSLHostConfig>
    </Connector>
    <Engine name=\"Catalina\" defaultHost=\"localhost\">
      <Host name=\"localhost\" appBase=\"webapps\" unpackWARs=\"true\" autoDeploy=\"false\">
{contexts}      </Host>
    </Engine>
  </Service>
</Server>
",
        clear.ip(),
        clear.port(),
        secure.ip(),
        secure.port(),
        protocols(*versions),
        if *rsa { "RSA" } else { "EC" },
        escaped(&certificate.chain.display().to_string()),
        escaped(&certificate.key.display().to_string()),
    )
}

/// `conf/web.xml`: what Tomcat's own file has that these applications need. A page is compiled
/// once and its file not looked at again, as Tomcat's documentation advises for production.
pub const WEB_XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
  <servlet>
    <servlet-name>default</servlet-name>
    <servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class>
    <load-on-startup>1</load-on-startup>
  </servlet>
  <servlet>
    <servlet-name>jsp</servlet-name>
    <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class>
    <init-param><param-name>development</param-name><param-value>false</param-value></init-param>
    <init-param><param-name>genStringAsCharArray</param-name><param-value>true</param-value></init-param>
    <init-param><param-name>compilerTargetVM</param-name><param-value>17</param-value></init-param>
    <init-param><param-name>compilerSourceVM</param-name><param-value>17</param-value></init-param>
    <load-on-startup>3</load-on-startup>
  </servlet>
  <servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping>
  <servlet-mapping>
    <servlet-name>jsp</servlet-name>
    <url-pattern>*.jsp</url-pattern>
  </servlet-mapping>
</web-app>
"#;

/// `conf/logging.properties`: warnings and start messages on standard error, which the lab keeps.
pub const LOGGING: &str = "handlers = java.util.logging.ConsoleHandler
.level = INFO
java.util.logging.ConsoleHandler.level = INFO
java.util.logging.ConsoleHandler.formatter = org.apache.juli.OneLineFormatter
";

/// A text within an attribute of XML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

/// Whether a path can stand in a file of configuration.
pub fn is_text(path: &Path) -> bool {
    path.to_str().is_some_and(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_and_times_are_in_milliseconds() {
        let file = |name: &str| PathBuf::from(name);
        let certificate =
            Certificate { chain: file("/a&b/c"), key: file("/k\"q"), both: file("/both") };
        let connectors = Connectors {
            clear: "127.0.0.1:8080".parse().unwrap(),
            secure: "127.0.0.1:8443".parse().unwrap(),
            certificate: &certificate,
            rsa: false,
            versions: TlsVersions::Only13,
            threads: 100,
            timeout: Duration::from_secs(10),
        };
        let apps = [App { path: String::new(), war: file("/x<y.war") }];
        let text = server_xml(&connectors, &apps);
        for expected in [
            "/a&amp;b/c\"",
            "/k&quot;q\"",
            "docBase=\"/x&lt;y.war\"",
            "connectionTimeout=\"10000\"",
            "maxThreads=\"100\"",
            "port=\"8443\"",
            "protocols=\"TLSv1.3\"",
            "type=\"EC\"",
        ] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
        assert!(is_text(Path::new("/a b")) && !is_text(Path::new("/a\nb")));
    }
}
