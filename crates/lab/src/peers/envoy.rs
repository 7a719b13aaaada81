//! Envoy with one worker.

use super::Work;
use super::{Server, Setup};
use crate::address::free_address;
use crate::error::Result;
use std::net::SocketAddr;
use std::process::Command;

/// Starts Envoy for one kind of work.
///
/// # Errors
/// It does not start.
pub fn start(work: Work, setup: &Setup) -> Result<Server> {
    let target = free_address()?;
    let file = setup.write("envoy.yaml", &configuration(work, setup, target))?;
    let mut command = Command::new(&setup.program);
    command.arg("--config-path").arg(&file).args([
        "--concurrency",
        "1",
        "--disable-hot-restart",
        "--log-level",
        "warning",
    ]);
    let process = setup.launch("Envoy", command)?.start_listening(&[target])?;
    Ok(Server { process, target, metrics: None })
}

fn configuration(work: Work, setup: &Setup, target: SocketAddr) -> String {
    let filters = if work == Work::Refused { refusing(setup) } else { proxying(work, setup) };
    let upstream = setup.upstream;
    format!(
        r#"static_resources:
  listeners:
  - address: {{ socket_address: {{ address: "{}", port_value: {} }} }}
{filters}
  clusters:
  - name: upstream
    connect_timeout: 5s
    load_assignment:
      cluster_name: upstream
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {{ socket_address: {{ address: "{}", port_value: {} }} }}
"#,
        target.ip(),
        target.port(),
        upstream.ip(),
        upstream.port()
    )
}

/// Reads the ClientHello, finds no filters for its server name and closes.
fn refusing(setup: &Setup) -> String {
    format!(
        r#"    listener_filters:
    - name: envoy.filters.listener.tls_inspector
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector
    filter_chains:
    - filter_chain_match: {{ server_names: ["nobody.invalid"] }}
{}"#,
        manager(Work::KeepAliveTls, setup)
    )
}

fn proxying(work: Work, setup: &Setup) -> String {
    format!("    filter_chains:\n    - {}", manager(work, setup).trim_start())
}

/// Envoy's two filters against overload, with the values of its documentation; the sampling of
/// successes is shortened to the length of a study's windows.
///
/// Source: Envoy 1.40's documentation, "Admission Control" and "Adaptive Concurrency".
const PROTECTION: &str = r#"          - name: envoy.filters.http.admission_control
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.admission_control.v3.AdmissionControl
              enabled: { default_value: true, runtime_key: admission_control.enabled }
              sampling_window: 5s
              success_criteria:
                http_criteria: { http_success_status: [ { start: 100, end: 500 } ] }
          - name: envoy.filters.http.adaptive_concurrency
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency
              enabled: { default_value: true, runtime_key: adaptive_concurrency.enabled }
              gradient_controller_config:
                sample_aggregate_percentile: { value: 90 }
                concurrency_limit_params: { concurrency_update_interval: 0.1s }
                min_rtt_calc_params: { jitter: { value: 10 }, interval: 60s, request_count: 50 }
"#;

/// A chain of filters: TLS unless the work is in the clear, then HTTP.
fn manager(work: Work, setup: &Setup) -> String {
    let certificate = &setup.certificate;
    let alpn = if work == Work::KeepAliveHttp2 { "alpn_protocols: [h2]" } else { "" };
    let tls = format!(
        r#"      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            {alpn}
            tls_certificates:
            - certificate_chain: {{ filename: "{}" }}
              private_key: {{ filename: "{}" }}
"#,
        certificate.chain.display(),
        certificate.key.display()
    );
    let protection = if setup.protected { PROTECTION } else { "" };
    let tls = if work == Work::KeepAliveClear { "" } else { &tls };
    let upgrades = match work {
        Work::WebSocket => "          upgrade_configs: [ { upgrade_type: websocket } ]\n",
        _ => "",
    };
    format!(
        r#"{tls}      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          use_remote_address: true
{upgrades}          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {{ prefix: "/" }}
                route: {{ cluster: upstream }}
          http_filters:
{protection}          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"#
    )
}
