//! Replies that come token by token, and what a server learns of a client that has gone.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use scholareval::judge::meters::TimeOuts;
use scholareval::question::EXPERTISE;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::*;

fn streaming(mut endpoint: Endpoint) -> Chat {
    endpoint.stream = true;
    Chat::new(endpoint, Arc::default()).unwrap()
}

fn events(chunks: &[Value]) -> Act {
    let mut body: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    body.push_str("data: [DONE]\n\n");
    Act::status(200, body).with_header("Content-Type", "text/event-stream; charset=utf-8")
}

#[tokio::test]
async fn a_streamed_reply_is_the_same_as_a_whole_one() {
    let delta =
        |text: &str| json!({"model": "m", "choices": [{"index": 0, "delta": {"content": text}}]});
    let server = FakeServer::start(Behaviour::always(events(&[
        delta("{\"score\""),
        delta(": 7}"),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 20}}}),
    ])));
    let request = request("x");
    let Ok(Outcome::Reply(reply)) = streaming(endpoint(&server)).ask(&request).await else {
        panic!()
    };
    assert_eq!(
        (reply.content.as_str(), reply.finish_reason.as_deref()),
        ("{\"score\": 7}", Some("stop"))
    );
    assert_eq!(reply.model.as_deref(), Some("m"));
    assert_eq!(
        reply.usage,
        Usage {
            prompt_tokens: 30,
            cached_prompt_tokens: 20,
            completion_tokens: 4,
            ..Usage::default()
        }
    );
    // Of the rendered body, which the cache knows, only the word about streams is changed.
    let (mut sent, rendered) = (
        server.chats()[0].json(),
        request.rendered.unwrap().body.bytes.clone(),
    );
    assert_eq!(
        (&sent["stream"], &sent["stream_options"]),
        (&json!(true), &json!({"include_usage": true}))
    );
    sent.as_object_mut().unwrap().remove("stream_options");
    sent["stream"] = json!(false);
    assert_eq!(sent, serde_json::from_slice::<Value>(&rendered).unwrap());
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood_too() {
    let server = FakeServer::start(Behaviour::good());
    assert!(matches!(
        streaming(endpoint(&server)).ask(&request("x")).await,
        Ok(Outcome::Reply(_))
    ));
    assert_eq!(server.chats()[0].json()["stream"], true);
}

#[tokio::test]
async fn errors_and_cuts_within_a_stream_are_passing_failures() {
    let half = json!({"choices": [{"index": 0, "delta": {"content": "{\"sco"}}]});
    let overloaded = json!({"error": {"code": 503, "message": "too busy"}});
    let server = FakeServer::start(
        Behaviour::good()
            .nth(0, events(&[half.clone(), overloaded]))
            .nth(
                1,
                Act::status(200, format!("data: {half}\n\n"))
                    .with_header("Content-Type", "text/event-stream"),
            ),
    );
    let judge = streaming(endpoint(&server));
    let Err(AskError::Transient {
        message,
        status: Some(503),
        ..
    }) = judge.ask(&request("x")).await
    else {
        panic!()
    };
    assert!(message.contains("too busy"), "{message}");
    let Err(AskError::Transient {
        message,
        status: None,
        ..
    }) = judge.ask(&request("x")).await
    else {
        panic!()
    };
    assert!(message.contains("stream ended"), "{message}");
}

#[tokio::test]
async fn a_stream_that_breaks_behind_the_whole_text_is_a_reply() {
    let end = json!({"choices": [{"index": 0, "delta": {"content": "{\"score\": 7}"}, "finish_reason": "stop"}]});
    let event = format!("data: {end}\n\n");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        for stays in [false, true] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 65536];
            let _ = stream.read(&mut buffer).await.unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let body = format!("{head}{:x}\r\n{event}\r\n", event.len());
            stream.write_all(body.as_bytes()).await.unwrap();
            // neither the end of the body nor `[DONE]`: closed at once, or open until the client closes
            if stays {
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            }
        }
    });
    let judge = streaming(Endpoint::new(&format!("http://{address}/v1")).unwrap());
    for call in ["closed", "kept open"] {
        let result = judge.ask(&request(call)).await;
        assert!(
            matches!(&result, Ok(Outcome::Reply(reply)) if reply.content == "{\"score\": 7}"),
            "{call}: {result:?}"
        );
    }
    drop(judge);
    server.await.unwrap();
}

#[tokio::test]
async fn a_slow_reply_ends_at_the_time_out() {
    let server = FakeServer::start(Behaviour::always(Act::Endless));
    let mut endpoint = endpoint(&server);
    endpoint.timeouts.total = Duration::from_millis(200);
    let result = Chat::new(endpoint, Arc::default())
        .unwrap()
        .ask(&request("x"))
        .await;
    let Err(AskError::Transient { message, .. }) = result else {
        panic!("{result:?}")
    };
    assert!(message.contains("no whole reply within"), "{message}");
}

/// Generates tokens until nobody takes them.
async fn generate(stream: &mut TcpStream) -> io::Error {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    if let Err(error) = stream.write_all(head.as_bytes()).await {
        return error;
    }
    let event = format!(
        "data: {}\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": "la "}}]})
    );
    loop {
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        if let Err(error) = stream.write_all(chunk.as_bytes()).await {
            return error;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_notices_a_time_out_and_stops_to_generate() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut endpoint =
        Endpoint::new(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    endpoint.timeouts.total = Duration::from_secs(1);
    let (stopped, notices) = oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut vec![0; 1 << 16]).await;
        stopped.send(generate(&mut stream).await.kind()).unwrap();
    });
    let judge = streaming(endpoint);
    let result = judge.ask(&request("x")).await;
    assert!(
        matches!(
            &result,
            Err(AskError::Transient {
                status: Some(408),
                ..
            })
        ),
        "{result:?}"
    );
    // The judge still lives, and with it its connections: only that of the dropped stream is gone.
    let kind = tokio::time::timeout(Duration::from_secs(60), notices)
        .await
        .expect("the server notices")
        .unwrap();
    assert!(
        matches!(
            kind,
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
        ),
        "{kind:?}"
    );
    server.await.unwrap();
}

/// What a call at this temperature brings through the retries, how many attempts the server saw, and the time-outs.
async fn retried(temperature: f64) -> (Result<Outcome, AskError>, usize, TimeOuts) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut endpoint =
        Endpoint::new(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    endpoint.timeouts.total = Duration::from_secs(1);
    let (meters, attempts) = (Arc::new(Meters::default()), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&attempts);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let _ = stream.read(&mut vec![0; 1 << 16]).await;
                generate(&mut stream).await;
            });
        }
    });
    endpoint.stream = true;
    let chat = Chat::new(endpoint, Arc::clone(&meters)).unwrap();
    let mut judge = Retrying::new(chat, 1, Arc::clone(&meters));
    judge.first_wait = Duration::ZERO;
    let options = RequestOptions {
        temperature: Some(temperature),
        ..RequestOptions::new("m")
    };
    let mut request = request("x");
    let messages = Messages::new(None, "x");
    request.rendered = Some(options.render(&PROPERTY, &options.prompt(messages, true), 0, 0));
    let outcome = judge.ask(&request).await;
    (outcome, attempts.load(Ordering::SeqCst), meters.time_outs())
}

#[tokio::test]
async fn a_reply_that_is_being_written_at_the_time_out_is_asked_again_only_if_it_may_differ() {
    let (outcome, attempts, time_outs) = retried(0.0).await;
    let Ok(Outcome::Unscored(reason)) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((reason.kind, attempts), (UnscoredKind::Unreachable, 1));
    for part in [
        "no whole reply within 1 s; ",
        " tokens came in ",
        "at temperature 0 another attempt would end the same way",
        "--timeout 30m",
        "--max-tokens KIND=N",
    ] {
        assert!(reason.message.contains(part), "{part}: {}", reason.message);
    }
    assert!(!reason.message.contains("attempts)"), "{}", reason.message);
    let (count, last) = &time_outs[&EXPERTISE.kind()];
    let start = "expertise (component expertise) of s, case c: no whole reply within 1 s; ";
    assert_eq!((*count, last.starts_with(start)), (1, true), "{last}");
    // No call was answered at all: the second time-out ends the run.
    let (outcome, attempts, time_outs) = retried(0.7).await;
    assert_eq!(attempts, 2, "{outcome:?}");
    assert!(
        format!("{outcome:?}").contains("is too slow"),
        "{outcome:?}"
    );
    assert_eq!(time_outs[&EXPERTISE.kind()].0, 1);
}

#[tokio::test]
async fn without_a_stream_a_call_at_temperature_0_may_time_out_twice() {
    for (temperature, attempts) in [(0.0, 2), (0.7, 4)] {
        let server = FakeServer::start(
            Behaviour::good().when(|request| request.text().contains("never"), Act::Silent),
        );
        let mut endpoint = endpoint(&server);
        endpoint.timeouts.total = Duration::from_secs(1);
        let meters = Arc::new(Meters::default());
        let chat = Chat::new(endpoint, Arc::clone(&meters)).unwrap();
        let mut judge = Retrying::new(chat, 3, Arc::clone(&meters));
        judge.first_wait = Duration::ZERO;
        // A server that has answered once is not silent.
        judge.ask(&request("first")).await.unwrap();
        let options = RequestOptions {
            temperature: Some(temperature),
            ..RequestOptions::new("m")
        };
        let mut request = request("x");
        let messages = Messages::new(None, "never");
        request.rendered = Some(options.render(&PROPERTY, &options.prompt(messages, true), 0, 0));
        let outcome = judge.ask(&request).await.unwrap();
        let Outcome::Unscored(reason) = outcome else {
            panic!("{outcome:?}")
        };
        let end = format!("(after {attempts} attempts)");
        assert!(reason.message.ends_with(&end), "{}", reason.message);
        assert_eq!(server.chat_count(), 1 + attempts);
    }
}

#[tokio::test]
async fn a_time_out_closes_the_connection_without_a_stream_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut endpoint =
        Endpoint::new(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    endpoint.timeouts.total = Duration::from_secs(1);
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 1 << 16];
        while !matches!(stream.read(&mut request).await, Ok(0) | Err(_)) {}
    });
    let judge = Chat::new(endpoint, Arc::default()).unwrap();
    let result = judge.ask(&request("x")).await;
    assert!(
        matches!(
            &result,
            Err(AskError::Transient {
                status: Some(408),
                ..
            })
        ),
        "{result:?}"
    );
    tokio::time::timeout(Duration::from_secs(60), server)
        .await
        .expect("the connection ends")
        .unwrap();
    drop(judge);
}
