//! WebSockets and streams of events, against servers that were written for other programs.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tidegate_load::{Arrivals, Plan, Scenario, Summary, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

type Socket = WebSocketStream<TcpStream>;

/// A server in a thread of its own, which does this with each connection.
fn server<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            listener.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((socket, _)) = listener.accept().await {
                tokio::task::spawn_local(serve(socket));
            }
        });
    });
    address
}

/// A server of WebSockets.
fn websockets<F>(serve: impl Fn(Socket) -> F + Clone + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + 'static,
{
    server(move |socket| {
        let serve = serve.clone();
        async move {
            if let Ok(socket) = accept_async(socket).await {
                serve(socket).await;
            }
        }
    })
}

/// Sends each message back after this time, behind another one.
fn echoing(after: Duration) -> SocketAddr {
    websockets(move |mut socket| async move {
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() {
                tokio::time::sleep(after).await;
                let _ = socket.send(Message::text("news")).await;
                let _ = socket.send(message).await;
            }
        }
    })
}

fn run_at(address: SocketAddr, scenario: &str, sessions: u64) -> Summary {
    let scenario = Scenario::from_toml(scenario, "chat.toml").unwrap();
    let mut plan = Plan::new(scenario, &format!("http://{address}"));
    plan.arrivals = Some(Arrivals::even(200.0));
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(sessions);
    run(plan, &mut |_| ()).unwrap()
}

const CHAT: &str = r#"
[session]
steps = ["Chat", "Say"]
think = "0s"
patience = "20s"
[pages]
Chat = { path = "/chat", opens = "websocket" }
Say = { send = "hello {customer}", expect = "hello {customer}", messages = 5 }
"#;

#[test]
fn messages_are_requests_of_their_own_with_the_time_to_their_answer() {
    let summary = run_at(echoing(Duration::from_millis(20)), CHAT, 10);
    assert_eq!((summary.totals.completed, summary.totals.failed), (10, 0));
    assert_eq!((summary.pages["Chat"].ok, summary.pages["Say"].ok), (10, 50));
    let say = &summary.pages["Say"].response;
    assert!(say.p50_ms >= 19.9, "{say:?}");
}

#[test]
fn at_a_rate_times_count_from_the_intended_start_of_each_message() {
    let paced = CHAT.replace("messages = 5", "messages = 5, every = \"10ms\"");
    let summary = run_at(echoing(Duration::from_millis(100)), &paced, 1);
    assert_eq!(summary.pages["Say"].ok, 5);
    // The last was to begin after 40 ms, and its answer came after 500 ms.
    let say = &summary.pages["Say"].response;
    assert!(say.max_ms >= 459.0, "{say:?}");
    // The driver is not to blame for the four that began late.
    assert!(summary.totals.missed_starts < 4);
}

#[test]
fn a_customer_who_listens_answers_pings_and_reads_on() {
    let pinging = || {
        websockets(|mut socket| async move {
            let _ = socket.next().await;
            for _ in 0..3 {
                let _ = socket.send(Message::Ping(b"?".to_vec().into())).await;
                let answer = socket.next().await;
                if !matches!(answer, Some(Ok(Message::Pong(_)))) {
                    return;
                }
            }
            let _ = socket.send(Message::text("three pongs")).await;
            while let Some(Ok(_)) = socket.next().await {}
        })
    };
    let text = r#"
[session]
steps = ["Chat", "Say", "Listen", "Last"]
think = "0s"
[pages]
Chat = { path = "/chat", opens = "websocket" }
Say = { send = "hi" }
Listen = { hold = "100ms" }
Last = { send = "bye" }
"#;
    let heard = text.replace("send = \"hi\" }", "send = \"hi\", expect = \"three pongs\" }");
    for text in [text, &heard] {
        let summary = run_at(pinging(), text, 3);
        assert_eq!((summary.totals.completed, summary.pages["Last"].ok), (3, 3));
        assert!(!summary.pages.contains_key("Listen"), "it is no request");
    }
}

#[test]
fn a_server_that_closes_or_does_not_answer_fails_the_session() {
    let closing = websockets(|mut socket| async move {
        let _ = socket.next().await;
        let _ = socket.close(None).await;
    });
    let summary = run_at(closing, CHAT, 4);
    assert_eq!(summary.totals.failed_by_kind.get("closed"), Some(&4));
    assert_eq!(summary.pages["Say"].failed, 4);
    let silent = websockets(|mut socket| async move { while socket.next().await.is_some() {} });
    let summary = run_at(silent, &CHAT.replace("20s", "200ms"), 2);
    assert_eq!(summary.totals.abandoned, 2);
}

#[test]
fn an_answer_that_opens_nothing_fails_by_its_status_or_its_kind() {
    for (answer, kind) in [
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "status_4xx"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", "not_opened"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            "http",
        ),
    ] {
        let address = server(move |mut socket| async move {
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(answer.as_bytes()).await;
            let _ = socket.read(&mut [0; 4096]).await;
        });
        let summary = run_at(address, CHAT, 2);
        assert_eq!(summary.totals.failed_by_kind.get(kind), Some(&2), "{answer}");
    }
}

#[test]
fn events_of_a_stream_are_awaited_and_timed_one_by_one() {
    let address = server(|mut socket| async move {
        let _ = socket.read(&mut [0; 4096]).await;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        let _ = socket.write_all(head.as_bytes()).await;
        for nth in 0.. {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let event = format!(": beat\n\nevent: price\ndata: {{\"price\": {nth}}}\n\n");
            // A chunk may end anywhere.
            let (first, rest) = event.split_at(12);
            for part in [first, rest] {
                let chunk = format!("{:x}\r\n{part}\r\n", part.len());
                if socket.write_all(chunk.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    let text = r#"
[session]
steps = ["Feed", "Price"]
think = "0s"
[pages]
Feed = { path = "/feed", opens = "events" }
Price = { expect = "\"price\":", messages = 4, check = { contains = "price" } }
"#;
    let summary = run_at(address, text, 3);
    assert_eq!((summary.totals.completed, summary.pages["Price"].ok), (3, 12));
    let sends = text.replace("expect =", "send = \"x\", expect =");
    let summary = run_at(address, &sends, 1);
    assert_eq!(summary.totals.failed_by_kind.get("not_opened"), Some(&1));
}
