//! Costs that only a measurement inside the process can resolve: reading a hello and a
//! decision of the controller, in CPU time of one thread on the first allowed processor.
//!
//! `make bench` judges the costs that [`tidegate_bench::in_process`] names; the captured
//! hellos stand beside them for comparison. `cargo test` makes each call once.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use criterion::{criterion_group, criterion_main};
use rustls::crypto::aws_lc_rs::{self as provider, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidegate_bench::in_process::{DECISION, HELLO, decision, hello};
use tidegate_control::{
    AGES, ByResource, ClassWork, Controller, Moment, Reading, ResourceName, Settings, Usage,
};
use tidegate_hello::{Limits, Progress, Reader};
use tidegate_host::{Cores, cpu_clock};
use tidegate_lab::NAME;

/// Time between two readings.
const TICK: Duration = Duration::from_millis(100);

criterion_group! {
    name = in_process;
    config = Criterion::default()
        .without_plots()
        .sample_size(40)
        .nresamples(1_000)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = hellos, captured_hellos, decisions
}
criterion_main!(in_process);

/// Hellos of new customers, as the rows of the benchmark send them and with the
/// post-quantum share of browsers.
fn hellos(criterion: &mut Criterion) {
    let mut group = group(criterion, HELLO);
    let x25519 = first_flight(&[kx_group::X25519, kx_group::SECP256R1]);
    let post_quantum =
        first_flight(&[kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1]);
    assert!(post_quantum.len() > x25519.len() + 1000, "the post-quantum share is missing");
    read(&mut group, hello::X25519, &x25519, x25519.len());
    read(&mut group, hello::POST_QUANTUM, &post_quantum, post_quantum.len());
}

/// What rustls sends first in TLS 1.3 with AES-128-GCM and these groups.
fn first_flight(groups: &[&'static dyn SupportedKxGroup]) -> Vec<u8> {
    let crypto = CryptoProvider {
        cipher_suites: vec![provider::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: groups.to_vec(),
        ..provider::default_provider()
    };
    let config = ClientConfig::builder_with_provider(Arc::new(crypto))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the suite is of that version")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = NAME.try_into().expect("a host name");
    let mut connection =
        ClientConnection::new(Arc::new(config), name).expect("a valid configuration");
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).expect("a Vec takes all");
    bytes
}

/// Hellos of other TLS libraries, in one piece and byte by byte.
fn captured_hellos(criterion: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hello/tests/captured");
    let files = std::fs::read_dir(folder).expect("the captured hellos");
    let mut files: Vec<_> = files.map(|entry| entry.expect("a readable folder").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "bin"));
    files.sort();
    let mut group = group(criterion, "captured hello");
    for file in files {
        let bytes = std::fs::read(&file).expect("a readable file");
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        read(&mut group, &name, &bytes, bytes.len());
        read(&mut group, &format!("{name}, byte by byte"), &bytes, 1);
    }
}

fn decisions(criterion: &mut Criterion) {
    let mut group = group(criterion, DECISION);
    decide(&mut group, decision::ADMITTED, 500, |controller, now| {
        controller.offered();
        controller.decide(now, Moment::in_flight(0, 0)).is_admit()
    });
    decide(&mut group, decision::NOT_ADMITTED, 100_000, |controller, now| {
        controller.offered();
        !controller.decide(now, Moment::in_flight(3, 40)).is_admit()
    });
    decide(&mut group, decision::RETURNING, 500, |controller, now| {
        controller.returning(now);
        true
    });
    decide(&mut group, decision::READING, 500, |controller, now| {
        controller.observe(now, &reading(500));
        true
    });
}

/// Measures a new reader, `bytes` pushed in pieces of `piece` bytes, and the drop of both.
fn read(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, bytes: &[u8], piece: usize) {
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|calls| {
            cpu_time(calls, || {
                let mut reader = Reader::new(Limits::default());
                let mut progress = Progress::NeedsMore;
                for piece in black_box(bytes).chunks(piece) {
                    progress = reader.push(piece);
                }
                assert!(matches!(black_box(&progress), Progress::Complete(_)), "{progress:?}");
            })
        });
    });
}

/// Measures `call` on a controller with so many active sessions. Its time grows by 20 ms a
/// call; it returns whether the controller decided as required.
fn decide(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    sessions: u32,
    mut call: impl FnMut(&mut Controller, Duration) -> bool,
) {
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|calls| {
            let (mut controller, mut now) = (controller(sessions), Duration::from_secs(60));
            cpu_time(calls, || {
                now += Duration::from_millis(20);
                let as_required = black_box(call(&mut controller, black_box(now)));
                assert!(as_required, "the controller does not decide as required: {name}");
            })
        });
    });
}

/// A group whose samples all have the same number of calls, on one processor.
fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let allowed = Cores::of_this_thread().expect("the allowed processors").list()[0];
    let pinned = Cores::one(allowed).and_then(|cores| cores.pin_this_thread());
    pinned.expect("an allowed processor");
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// CPU time of the thread over so many calls.
fn cpu_time(calls: u64, mut call: impl FnMut()) -> Duration {
    let start = cpu_clock::of_this_thread();
    for _ in 0..calls {
        call();
    }
    cpu_clock::of_this_thread().saturating_sub(start)
}

/// A controller with so many active sessions.
fn controller(sessions: u32) -> Controller {
    let mut controller = Controller::new(Settings::default());
    for tick in 1..100 {
        controller.observe(TICK * tick, &reading(sessions));
    }
    controller
}

fn reading(sessions_active: u32) -> Reading {
    let usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.02), idle: Some(0.6) };
    let work = ClassWork {
        connections: 10,
        handshakes: 10,
        handshake_cpu_s: 0.005,
        requests: 100,
        request_cpu_s: 0.01,
        ..ClassWork::default()
    };
    Reading {
        elapsed: TICK,
        usage: ResourceName::ALL
            .into_iter()
            .fold(ByResource::default(), |all, name| all.with(name, usage)),
        new: work,
        returning: work,
        in_flight_requests: 5,
        sessions_active,
        thinking: std::array::from_fn(|age| u64::from(sessions_active) >> age),
        requests_by_age: [10; AGES],
        sessions_started: 10,
        upstream_responses: 200,
        upstream_time_s: 0.2,
        upstream_time_ln: 2763.0,
        ..Reading::default()
    }
}
