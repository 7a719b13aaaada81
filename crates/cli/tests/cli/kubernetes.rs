//! The Helm chart: rendered by helm, validated by kubeconform against the schemas of Kubernetes, and
//! its configuration checked by the gate. Skipped without `scripts/bootstrap test`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{Text, curl, gate, private, tidegate, wait_until};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Values without which nothing is rendered.
const LEAST: &[&str] = &["upstream=http://127.0.0.1:9", "certificate.secretName=shop-tls"];
/// Values that switch on everything else.
const MOST: &[&str] = &[
    "fleet.nats={nats://nats.nats.svc:4222,tls://nats-2.nats.svc:4222}",
    "fleet.credentialsSecretName=nats",
    "fleet.caSecretName=ca",
    "replicas=3",
    "autoscaling.enabled=true",
    "serviceMonitor.enabled=true",
    "serviceMonitor.labels.release=prometheus",
    "drain.deadlineSeconds=90",
    "service.annotations.a=b",
    "imagePullSecrets[0].name=registry",
    "podAnnotations.c=d",
    "nodeSelector.e=f",
    "tolerations[0].operator=Exists",
    "extraVolumes[0].name=agent",
    "extraVolumes[0].secret.secretName=agent",
    "extraVolumeMounts[0].name=agent",
    "extraVolumeMounts[0].mountPath=/etc/tidegate/agent",
];

/// What helm renders; `None`, said aloud, where it is not installed.
fn rendered(values: &[&str]) -> Option<Output> {
    let helm = repository("target/helm/helm");
    if !repository("target/helm/schemas/_definitions.json").is_file()
        || !helm.is_file()
        || !repository("target/helm/kubeconform").is_file()
    {
        eprintln!("SKIPPED: the Helm chart: scripts/bootstrap test builds helm and kubeconform");
        return None;
    }
    let mut command = Command::new(helm);
    command.args(["template", "shop"]).arg(repository("deploy/kubernetes"));
    for value in values {
        command.args(["--set", value]);
    }
    Some(command.output().unwrap())
}

/// Everything that these values make, if helm accepts them.
fn objects(values: &[&str]) -> Option<String> {
    let output = rendered(values)?;
    assert!(output.status.success(), "{}", output.stderr_text());
    Some(output.stdout_text())
}

/// The gate's configuration in rendered objects.
fn configuration(objects: &str) -> String {
    let text = objects.split_once("gate.toml: |\n").unwrap().1;
    let inside = text.lines().take_while(|line| line.starts_with("    ") || line.is_empty());
    inside.map(|line| line.strip_prefix("    ").unwrap_or("").to_owned() + "\n").collect()
}

#[test]
fn the_chart_makes_objects_that_kubernetes_accepts() {
    for (values, count) in [(LEAST.to_vec(), 6), ([LEAST, MOST].concat(), 8)] {
        let Some(objects) = objects(&values) else { return };
        let schema = "{{.ResourceKind}}{{.KindSuffix}}.json";
        let [kubernetes, own] = ["target/helm/schemas", "crates/cli/tests/cli/kubernetes"]
            .map(|folder| repository(folder).join(schema));
        let mut command = Command::new(repository("target/helm/kubeconform"));
        command.args(["-strict", "-summary", "-schema-location"]).arg(kubernetes);
        command.arg("-schema-location").arg(own).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(objects.as_bytes()).unwrap();
        let said = child.wait_with_output().unwrap().stdout_text();
        assert!(said.contains(&format!("Valid: {count}, Invalid: 0, Errors: 0")), "{said}");
    }
}

#[test]
fn the_gate_accepts_the_configuration_of_the_chart() {
    let fleet = ["fleet.nats={nats://127.0.0.1:4222}", "replicas=3"];
    let Some(objects) = objects(&[LEAST, &fleet].concat()) else { return };
    let folder = tempfile::tempdir().unwrap();
    private(&folder.path().join("secret"), "0123456789abcdef0123456789abcdef");
    let made = rcgen::generate_simple_self_signed(["shop.test".to_owned()]).unwrap();
    std::fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    let text = configuration(&objects);
    let own = folder.path().display().to_string();
    let text = text.replace("/etc/tidegate/tls", &own).replace("/etc/tidegate/fleet", &own);
    let file = folder.path().join("gate.toml");
    std::fs::write(&file, &text).unwrap();
    let output = tidegate(&["check", &file.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{text}\n{}", output.stderr_text());
}

#[test]
fn a_pod_has_time_to_drain_and_configures_the_gate_for_it() {
    let Some(objects) = objects(&[LEAST, MOST].concat()) else { return };
    assert!(objects.contains("sleep: { seconds: 10 }"), "{objects}");
    assert!(objects.contains("terminationGracePeriodSeconds: 105"), "10 + 90 + 5\n{objects}");
    assert!(configuration(&objects).contains("drain_deadline = \"90s\""), "{objects}");
}

#[test]
fn what_the_chart_cannot_make_is_told_with_a_remedy() {
    for (values, told) in [
        (vec![LEAST[1]], "upstream is empty: set the URL"),
        (vec![LEAST[0]], "certificate.secretName is empty: name a Secret"),
        ([LEAST, &["replicas=3"]].concat(), "more than one gate needs fleet.nats"),
        ([LEAST, &["autoscaling.enabled=true"]].concat(), "more than one gate needs fleet.nats"),
        ([LEAST, &["replica=3"]].concat(), "additional properties 'replica' not allowed"),
        ([LEAST, &["fleet.nats={http://nats}"]].concat(), "/fleet/nats/0"),
    ] {
        let Some(output) = rendered(&values) else { return };
        assert!(!output.status.success(), "{values:?}");
        assert!(output.stderr_text().contains(told), "{values:?}: {}", output.stderr_text());
    }
}

#[test]
fn gates_are_scaled_by_a_metric_that_they_have() {
    let text = |path| std::fs::read_to_string(repository(path)).unwrap();
    let adapter = text("deploy/kubernetes/prometheus-adapter.yaml");
    let metric = text("deploy/kubernetes/values.yaml");
    let metric = metric.split_once("metric: ").unwrap().1.split_whitespace().next().unwrap();
    assert!(adapter.contains(&format!("as: {metric} }}")), "{metric} is not in\n{adapter}");
    let gate = gate("http://127.0.0.1:9", &[]);
    let metrics = || curl(&[&format!("{}/metrics", gate.address("admin"))]).stdout_text();
    let used: Vec<&str> =
        adapter.match_indices("tidegate_").map(|(at, _)| &adapter[at..]).collect();
    let series = used.iter().filter_map(|text| text.split_once(['{', ' '])).map(|(name, _)| name);
    let series: Vec<&str> = series.filter(|name| *name != metric).collect();
    assert_eq!(series.len(), 3, "{series:?}");
    for name in series {
        // Use is known after a second.
        let sample = format!("{name}{{resource=\"gate\"}}");
        wait_until(&format!("{name} is told"), || metrics().contains(&sample));
    }
}
