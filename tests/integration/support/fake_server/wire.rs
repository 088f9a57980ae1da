//! HTTP/1.1 by hand, and the ways to break it.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::behaviour::{Act, Behaviour, Recorded, completion};

/// Counts a chat request as long as it lives.
pub(super) struct InFlight<'a> {
    pub(super) counter: &'a AtomicUsize,
    pub(super) is_counting: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.is_counting {
            self.counter.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Does `act`; true if the connection can be used again. The request is no longer in flight just before the last byte
/// leaves, so that the next one, which may come at once, is not counted beside it.
pub(super) async fn perform(
    mut act: Act,
    request: &Recorded,
    stream: &mut TcpStream,
    counter: InFlight<'_>,
    behaviour: &Behaviour,
) -> io::Result<bool> {
    while let Act::After(wait, then) = act {
        tokio::time::sleep(wait).await;
        act = *then;
    }
    let streams = behaviour.stream_of(request);
    let media = if streams.is_some() {
        "text/event-stream"
    } else {
        "application/json"
    };
    let body = |content: &str| {
        let whole = completion(content, request);
        streams.map_or_else(|| whole.to_string(), |stream| (stream.pieces)(&whole))
    };
    match act {
        Act::Good | Act::Content(_) => {
            let content = if let Act::Content(content) = act {
                content
            } else {
                (behaviour.good_content)(request)
            };
            let headers = [("content-type".to_owned(), media.to_owned())];
            let response = response(200, &headers, body(&content).as_bytes());
            drop(counter);
            stream.write_all(&response).await?;
            Ok(true)
        }
        Act::GoodAndClosed => {
            let headers = [("content-type".to_owned(), media.to_owned())];
            let response = response(
                200,
                &headers,
                body(&(behaviour.good_content)(request)).as_bytes(),
            );
            drop(counter);
            stream.write_all(&response).await?;
            stream.shutdown().await?;
            Ok(false)
        }
        Act::GoodInChunks => {
            let body = body(&(behaviour.good_content)(request));
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ntransfer-encoding: chunked\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
            for byte in body.bytes() {
                stream
                    .write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n'])
                    .await?;
            }
            drop(counter);
            stream.write_all(b"0\r\n\r\n").await?;
            Ok(true)
        }
        Act::Response {
            status,
            headers,
            body,
        } => {
            let response = response(status, &headers, &body);
            drop(counter);
            stream.write_all(&response).await?;
            Ok(true)
        }
        broken => {
            break_off(broken, media, stream).await?;
            Ok(false)
        }
    }
}

/// The beginning of a body.
const JSON_BEGUN: &str = "{\"choices\":[{\"mess";
const STREAM_BEGUN: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"sco\"}}]}\n\ndata: {\"ch";

/// A head that promises more than follows.
fn half(media: &str) -> String {
    let begun = if media == "text/event-stream" {
        STREAM_BEGUN
    } else {
        JSON_BEGUN
    };
    format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: 500\r\n\r\n{begun}")
}

/// Does an act that gives no whole response.
async fn break_off(act: Act, media: &str, stream: &mut TcpStream) -> io::Result<()> {
    match act {
        Act::ResetBefore => {
            stream.set_zero_linger()?;
        }
        Act::ResetWithin => {
            stream.write_all(half(media).as_bytes()).await?;
            stream.flush().await?;
            // Give the head time to arrive: a reset overtakes what is still on its way.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger()?;
        }
        Act::Cut => {
            stream.write_all(half(media).as_bytes()).await?;
            stream.shutdown().await?;
        }
        Act::Endless => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ntransfer-encoding: chunked\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(b"1\r\n \r\n").await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        _ => std::future::pending::<()>().await,
    }
    Ok(())
}

fn response(status: u16, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} Fake\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // One write, one packet.
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The next request; `None` when the client has closed. `buffer` keeps what came after it.
pub(super) async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Recorded>> {
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut request = Recorded {
        method,
        path,
        query,
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    buffer.drain(..head_end);
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = buffer.drain(..length).collect();
    Ok(Some(request))
}
