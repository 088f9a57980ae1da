//! `sources`: a store of saved pages, from every form of source, hostile ones among them.

use std::io::Write as _;
use std::path::Path;

use rawzip::CompressionMethod;
use scholareval::domain::PageState;
use scholareval::sources::{PageStore, StoredPage};
use serde_json::json;

use crate::support::workspace::{Finished, Workspace};

/// Text of an ordinary page, longer than any wall.
fn body(subject: &str) -> String {
    format!("{subject} is measured every day. ").repeat(80)
}

fn html(title: &str, text: &str) -> String {
    format!(
        "<!doctype html><html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
    )
}

/// A record of a WARC file on a day of 2026.
fn record_of(day: &str, record: Vec<u8>) -> Vec<u8> {
    let text = "WARC-Date: 2026-10-01T12:00:00Z";
    let at = record
        .windows(text.len())
        .position(|window| window == text.as_bytes())
        .unwrap();
    let dated = format!("WARC-Date: 2026-{day}T12:00:00Z");
    [&record[..at], dated.as_bytes(), &record[at + text.len()..]].concat()
}

/// A record of a WARC file.
fn record(kind: &str, url: &str, more: &str, block: &[u8]) -> Vec<u8> {
    let header = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-10-01T12:00:00Z\r\n{more}Content-Length: {}\r\n\r\n",
        block.len()
    );
    [header.as_bytes(), block, b"\r\n\r\n"].concat()
}

/// A reply of HTTP as a record.
fn response(url: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let block = [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat();
    let digest = format!(
        "WARC-Payload-Digest: sha1:{}\r\n",
        blake3::hash(body).to_hex()
    );
    record(
        "response",
        url,
        &format!("Content-Type: application/http; msgtype=response\r\n{digest}"),
        &block,
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What a crawler writes of a page.
pub(crate) fn sample_archive() -> Vec<u8> {
    let head = "200 OK\r\nContent-Type: text/html";
    gzip(&response(
        "https://ice.example.org/report",
        head,
        b"<p>Ice shrinks where the sea is warm.</p>",
    ))
}

fn work() -> Workspace {
    Workspace::with_cases(&[])
}

fn index(work: &Workspace, sources: &[&str]) -> Finished {
    work.run(&[&["sources", "index"], sources].concat())
}

/// The best snapshot of a page.
#[track_caller]
fn stored(work: &Workspace, url: &str) -> StoredPage {
    let store = PageStore::open(&work.path("sources.sqlite")).unwrap();
    let mut pages = store.snapshots(url).unwrap();
    assert!(!pages.is_empty(), "{url} is not in the store");
    pages.remove(0)
}

#[track_caller]
fn text(work: &Workspace, url: &str) -> String {
    let store = PageStore::open(&work.path("sources.sqlite")).unwrap();
    store.text(&stored(work, url)).unwrap().unwrap_or_default()
}

#[test]
fn what_scrapers_write_becomes_pages_with_a_state() {
    let work = work();
    let lines = [
        json!({"url": "https://example.org/text", "text": body("Ice"), "retrieved_at": "2026-10-01T12:00:00Z"}),
        json!({"url": "https://example.org/html", "html": html("Snow", &body("Snow")), "status": 200}),
        json!({"url": "https://example.org/markdown", "markdown": body("Rain"), "title": "Rain"}),
        json!({"url": "https://example.org/failed", "error": "403 Client Error"}),
        json!({"id": 7, "url": "https://example.org/fork", "url_content": "scrape failed: timed out"}),
        json!({"url": "https://example.org/gone", "text": body("Nothing"), "status": "404"}),
        json!({"url": "https://example.org/snippet", "content": "a snippet", "raw_content": null}),
        json!({"url": "", "text": "no address"}),
        // FACT
        json!({"id": 1, "article": "..", "citations_deduped": {
            "https://example.org/fact": {"facts": ["Hail is ice."], "url_content": format!("Hail\n\nOn hail\n\n{}", body("Hail"))},
            "https://example.org/fact-gone": {"facts": ["x"], "url_content": format!("Page not found\n\n\n\n{}", body("Hail"))},
            "https://example.org/fact-failed": {"facts": ["x"], "url_content": "scrape failed: 'url'"},
            "https://example.org/fact-later": {"facts": ["x"], "url_content": null},
            "": {"facts": ["x"], "url_content": "scrape failed: 'url'"},
        }}),
        json!({"id": 2, "article": "..", "citations_deduped": {}}),
        // Jina
        json!({"code": 200, "data": {"url": "https://example.org/jina", "title": "Fog", "content": body("Fog")}}),
        json!({"code": 200, "data": {"url": "https://example.org/jina-gone", "title": "", "content": "Oops",
            "warning": "Target URL returned error 404: Not Found"}}),
        // Firecrawl: one page, and a crawl
        json!({"success": true, "data": {"markdown": body("Wind"), "metadata": {"sourceURL": "https://example.org/fire", "statusCode": 200}}}),
        json!({"success": true, "data": [
            {"markdown": "", "metadata": {"sourceURL": "https://example.org/fire-denied", "statusCode": 403, "error": "Forbidden"}},
            {"markdown": body("Storm"), "metadata": {"sourceURL": "https://example.org/crawl", "statusCode": 200}},
        ]}),
        // Tavily
        json!({"results": [{"url": "https://example.org/tavily", "content": "snippet", "raw_content": body("Dew")},
            {"url": "https://example.org/tavily-search", "content": "snippet"}],
            "failed_results": [{"url": "https://example.org/tavily-failed", "error": "timeout"}]}),
    ];
    work.write(
        "pages.jsonl",
        &lines.map(|line| line.to_string() + "\n").concat(),
    );
    let done = index(&work, &["pages.jsonl"]).exits_with(0);
    assert!(
        done.stdout
            .starts_with("sources.sqlite: 16 pages added, 0 already there\n"),
        "{}",
        done.stdout
    );
    for (name, state) in [
        ("text", PageState::Ok),
        ("html", PageState::Ok),
        ("markdown", PageState::Ok),
        ("failed", PageState::Blocked),
        ("fork", PageState::Unreachable),
        ("gone", PageState::Unreachable),
        ("fact", PageState::Ok),
        ("fact-gone", PageState::Unreachable),
        ("fact-failed", PageState::Unreachable),
        ("jina", PageState::Ok),
        ("jina-gone", PageState::Unreachable),
        ("fire", PageState::Ok),
        ("fire-denied", PageState::Blocked),
        ("crawl", PageState::Ok),
        ("tavily", PageState::Ok),
        ("tavily-failed", PageState::Unreachable),
    ] {
        let page = stored(&work, &format!("https://example.org/{name}"));
        assert_eq!(page.state, state, "{name}: {}", page.reason);
    }
    let page = stored(&work, "http://www.example.org/text/#part");
    assert_eq!(page.retrieved_at.as_deref(), Some("2026-10-01T12:00:00Z"));
    assert_eq!(stored(&work, "https://example.org/html").title, "Snow");
    assert_eq!(stored(&work, "https://example.org/fact").title, "Hail");
    assert!(text(&work, "https://example.org/html").starts_with("Snow is measured"));
    // The same again adds nothing.
    let again = index(&work, &["pages.jsonl"]).exits_with(0);
    assert!(
        again
            .stdout
            .starts_with("sources.sqlite: 0 pages added, 16 already there\n"),
        "{}",
        again.stdout
    );
}

#[test]
fn archives_give_their_pages_with_date_status_encoding_and_redirects() {
    let work = work();
    let url = |name: &str| format!("https://example.org/{name}");
    let page = html("Ice", &body("Ice"));
    let chunked = format!("{:x}\r\n{page}\r\n0\r\n\r\n", page.len());
    let html_head = "200 OK\r\nContent-Type: text/html; charset=utf-8";
    let records = [
        record("warcinfo", "", "", b"software: x"),
        response(&url("plain"), html_head, page.as_bytes()),
        response(
            &url("chunked"),
            &format!("{html_head}\r\nTransfer-Encoding: chunked"),
            chunked.as_bytes(),
        ),
        response(
            &url("packed"),
            &format!("{html_head}\r\nContent-Encoding: gzip"),
            &gzip(page.as_bytes()),
        ),
        response(
            &url("latin"),
            "200 OK\r\nContent-Type: text/html; charset=iso-8859-1",
            b"<p>caf\xe9 and cr\xe8me and more words",
        ),
        response(&url("moved"), "301 Moved\r\nLocation: /plain", b""),
        response(
            &url("denied"),
            "403 Forbidden\r\nContent-Type: text/html",
            b"<p>no",
        ),
        response(
            &url("picture.png"),
            "200 OK\r\nContent-Type: image/png",
            b"\x89PNG",
        ),
        response(
            &url("paper.pdf"),
            "200 OK\r\nContent-Type: application/pdf",
            b"%PDF-1.7 \xff\xfe",
        ),
        record(
            "resource",
            &url("resource"),
            "Content-Type: text/html\r\n",
            html("Snow", &body("Snow")).as_bytes(),
        ),
        record(
            "conversion",
            &url("wet"),
            "Content-Type: text/plain\r\n",
            body("Fog").as_bytes(),
        ),
        record("request", &url("plain"), "", b"GET / HTTP/1.1\r\n\r\n"),
        record(
            "revisit",
            &url("again"),
            &format!(
                "WARC-Payload-Digest: sha1:{}\r\n",
                blake3::hash(page.as_bytes()).to_hex()
            ),
            b"",
        ),
    ];
    std::fs::write(work.path("crawl.warc"), records.concat()).unwrap();
    // Each record is a member, as archives are written.
    let members: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
    std::fs::write(work.path("crawl.warc.gz"), members.concat()).unwrap();
    let mut zip = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut zip);
    for (name, bytes) in [
        ("datapackage.json", b"{}".to_vec()),
        ("archive/data.warc.gz", members.concat()),
    ] {
        let (mut entry, config) = archive
            .new_file(name)
            .compression_method(CompressionMethod::STORE)
            .start()
            .unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(&bytes).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    std::fs::write(work.path("crawl.wacz"), zip).unwrap();

    for (at, source) in ["crawl.warc", "crawl.warc.gz", "crawl.wacz"]
        .iter()
        .enumerate()
    {
        let done = index(&work, &[source]).exits_with(0);
        let expected = if at == 0 {
            "9 pages added, 0 already there"
        } else {
            "0 pages added, 9 already there"
        };
        assert!(done.stdout.contains(expected), "{source}: {}", done.stdout);
    }
    for name in ["plain", "chunked", "packed", "moved", "again"] {
        assert!(
            text(&work, &url(name)).starts_with("Ice is measured"),
            "{name}"
        );
    }
    assert!(text(&work, &url("latin")).starts_with("café and crème"));
    assert!(text(&work, &url("wet")).starts_with("Fog"));
    let plain = stored(&work, &url("plain"));
    assert_eq!(
        (plain.status, plain.retrieved_at.as_deref()),
        (Some(200), Some("2026-10-01T12:00:00Z"))
    );
    assert_eq!(stored(&work, &url("denied")).state, PageState::Blocked);
    let pdf = stored(&work, &url("paper.pdf"));
    assert_eq!(
        (pdf.state, pdf.kind.name()),
        (PageState::Empty, "full_text")
    );
}

#[test]
fn a_directory_of_saved_files_is_read_with_the_texts_of_its_pdfs() {
    let work = work();
    let put = |name: &str, bytes: &[u8]| {
        let path = work.path("saved").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put(
        "example.org/news/index.html",
        html("News", &body("News")).as_bytes(),
    );
    put("example.org/style.css", b"p {}");
    put("example.org/a?id=1", html("A", &body("A")).as_bytes());
    put("example.org/paper.pdf", b"%PDF-1.7");
    put("example.org/paper.txt", body("Paper").as_bytes());
    put("2101.00001v2.pdf", b"%PDF-1.7");
    put("2101.00001v2.txt", body("Preprint").as_bytes());
    let single_file = format!(
        "<!DOCTYPE html><html><!--\n Page saved with SingleFile\n url: https://other.example/b\n-->{}",
        body("B")
    );
    put("b.html", single_file.as_bytes());
    put(
        "more/pages.jsonl",
        json!({"url": "https://other.example/c", "text": body("C")})
            .to_string()
            .as_bytes(),
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(work.path("saved"), work.path("saved").join("circle")).unwrap();
    index(&work, &["saved"]).exits_with(0);
    for (url, start) in [
        ("https://example.org/news/", "News"),
        ("https://example.org/a?id=1", "A is"),
        ("https://example.org/paper.pdf", "Paper"),
        ("https://arxiv.org/pdf/2101.00001", "Preprint"),
        ("https://other.example/b", "B is"),
        ("https://other.example/c", "C is"),
    ] {
        assert!(
            text(&work, url).starts_with(start),
            "{url}: {}",
            text(&work, url)
        );
    }
    assert_eq!(
        stored(&work, "https://arxiv.org/pdf/2101.00001")
            .work
            .as_deref(),
        Some("arxiv:2101.00001")
    );

    std::fs::write(work.path("nowhere.html"), html("x", &body("x"))).unwrap();
    index(&work, &["nowhere.html"]).exits_with(3).says(&[
        "nowhere.html: a saved page without an address",
        "SingleFile",
    ]);
}

#[test]
fn tools_of_inspect_logs_fetched_pages() {
    let work = work();
    let tool = |url: &str, more: serde_json::Value| {
        let mut event = json!({"event": "tool", "timestamp": "2026-10-01T12:00:00+00:00", "function": "fetch", "arguments": {"url": url}});
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        event
    };
    let sample = json!({
        "id": "c1", "epoch": 1,
        "attachments": {"abc": body("Ice")},
        "events": [
            {"event": "model"},
            {"event": "tool", "arguments": {"query": "ice"}, "result": "[]"},
            tool("https://example.org/a", json!({"result": "attachment://abc", "error": null})),
            tool("https://example.org/b", json!({"result": "Error fetching: 404"})),
            tool("https://example.org/c", json!({"result": "", "error": {"type": "timeout", "message": "timed out"}})),
            tool("https://example.org/d", json!({"result": [{"type": "text", "text": body("Snow")}], "truncated": [50000, 16384]})),
        ],
    });
    let log = json!({"version": 2, "eval": {"task": "t"}, "samples": [sample]});
    work.write("log.json", &serde_json::to_string_pretty(&log).unwrap());
    index(&work, &["log.json"]).exits_with(0);
    let state = |name: &str| stored(&work, &format!("https://example.org/{name}")).state;
    let states = ["a", "b", "c", "d"].map(state);
    assert_eq!(
        states,
        [
            PageState::Ok,
            PageState::Unreachable,
            PageState::Unreachable,
            PageState::Teaser
        ]
    );
    assert!(text(&work, "https://example.org/a").starts_with("Ice"));
}

#[test]
fn show_prints_what_a_judge_would_read_and_nothing_of_it_reaches_the_terminal_as_a_command() {
    let work = work();
    let hostile = format!("{}\u{1b}[2J\u{202e}\nurl: forged", body("Ice"));
    let line = json!({"url": "https://example.org/a", "title": "\u{1b}]0;x", "text": hostile});
    let wall = json!({"url": "https://example.org/wall", "text": "Checking your browser before you can see the page."});
    work.write("pages.jsonl", &format!("{line}\n{wall}\n"));
    index(&work, &["pages.jsonl", "--out", "store"]).exits_with(0);
    let shown = work
        .run(&["sources", "show", "www.example.org/a", "--sources", "store"])
        .exits_with(0);
    assert!(
        shown.stdout.starts_with("Ice is measured") && shown.stdout.ends_with("\nurl: forged\n"),
        "{shown:?}"
    );
    assert!(
        shown.stdout.contains("\\u{1b}[2J\\u{202e}") && !shown.all_text().contains('\u{1b}'),
        "{shown:?}"
    );
    let shown = shown.says(&[
        "state:     ok",
        "title:     \\u{1b}]0;x",
        "source:    pages.jsonl",
    ]);
    assert!(!shown.stdout.contains("state:"));
    work.run(&[
        "sources",
        "show",
        "https://example.org/wall",
        "--sources",
        "store",
    ])
    .exits_with(0)
    .says(&["blocked (the page says \"checking your browser\"): a judge is not asked"]);
    work.run(&[
        "sources",
        "show",
        "https://example.org/b",
        "--sources",
        "store",
    ])
    .exits_with(3)
    .says(&["no page of https://example.org/b in the store; fetch it"]);
    work.run(&["sources", "show", "https://example.org/b"])
        .exits_with(3)
        .says(&["there is no such store of pages"]);
}

#[test]
fn missing_lists_each_cited_page_once_for_a_fetcher() {
    let work = work();
    let pages = json!({"url": "https://example.org/a", "text": body("Ice")});
    work.write("pages.jsonl", &pages.to_string());
    index(&work, &["pages.jsonl"]).exits_with(0);
    work.answers(
        "one",
        [(
            "c1",
            "Ice [1](https://www.example.org/a#x), snow (https://example.org/b?utm_source=y), doi:10.1000/X.\n\n\
             [2]: https://example.org/b"
                .to_owned(),
        )],
    );
    work.answers(
        "two",
        [(
            "c1",
            "See https://doi.org/10.1000/x and arXiv:2101.00001v1.".to_owned(),
        )],
    );
    let done = work.run(&["sources", "missing", "answers"]).exits_with(0);
    let expected = "https://example.org/b?utm_source=y\nhttps://doi.org/10.1000/x\nhttps://arxiv.org/abs/2101.00001\n";
    assert_eq!(done.stdout, expected);
    done.says(&["4 cited pages: 3 not in the store, 1 ok"]);
}

#[test]
fn a_source_that_is_none_names_the_forms_and_nothing_is_written() {
    let work = work();
    std::fs::write(work.path("picture.png"), b"\x89PNG\r\n").unwrap();
    index(&work, &["picture.png"]).exits_with(3).says(&[
        "picture.png: not a source of pages that can be read; the forms are: ",
        "WARC or WET",
        "JSON or JSONL",
        "a log of Inspect",
    ]);
    work.write("page.jsonl", "{}");
    index(&work, &["pages.jsonl"])
        .exits_with(3)
        .says(&["no such file or directory; did you mean page.jsonl?"]);
    index(&work, &["page.jsonl"])
        .exits_with(3)
        .says(&["page.jsonl:1: no page: found nothing"]);
    work.write("thesis.sqlite", "not a store at all");
    work.write(
        "good.jsonl",
        &json!({"url": "https://example.org/a", "text": body("Ice")}).to_string(),
    );
    index(&work, &["good.jsonl", "--out", "thesis.sqlite"])
        .exits_with(3)
        .says(&["is not a store of pages; it was not changed"]);
    assert_eq!(work.read("thesis.sqlite"), "not a store at all");
    assert!(!work.path("sources.sqlite").exists());
}

#[test]
fn one_broken_line_in_a_hundred_is_named_and_left_out_and_more_stop() {
    let work = work();
    let good = |at: usize| {
        json!({"url": format!("https://example.org/{at}"), "text": body("Ice")}).to_string()
    };
    let mut lines: Vec<String> = (1..=100).map(good).collect();
    lines[41] = "{\"url\": \"https://example.org/x\", ".to_owned();
    work.write("pages.jsonl", &lines.join("\n"));
    let done = index(&work, &["pages.jsonl"]).exits_with(0);
    assert!(
        done.stdout.contains("99 pages added") && done.stdout.contains("1  broken parts left out"),
        "{}",
        done.stdout
    );
    done.says(&["warning: pages.jsonl:42: invalid JSON"]);

    lines[7] = "{\"url\": \"https://example.org/y\", \"txt\": \"\"}".to_owned();
    work.write("pages.jsonl", &lines.join("\n"));
    index(&work, &["pages.jsonl", "--out", "other.sqlite"])
        .exits_with(3)
        .says(&[
            "pages.jsonl:8: a page without text",
            "pages.jsonl:42: invalid JSON",
            "2 of 100 parts cannot be read, above the limit of 1%",
        ]);
    assert!(!work.path("other.sqlite").exists());
    // A store that was there stays as it was.
    let before = std::fs::read(work.path("sources.sqlite")).unwrap();
    index(&work, &["pages.jsonl"]).exits_with(3);
    assert!(std::fs::read(work.path("sources.sqlite")).unwrap() == before);
}

#[test]
fn the_worst_pages_are_a_state_and_never_a_crash() {
    let work = work();
    let nested = format!(
        "{}deep words of a page that is nested{}",
        "<div>".repeat(100_000),
        "</div>".repeat(100_000)
    );
    let long = format!("<p>{}", "word ".repeat(600_000));
    let head = "200 OK\r\nContent-Type: text/html";
    let url = |name: &str| format!("https://example.org/{name}");
    let lone = r#"{"url": "https://example.org/half", "text": "half a character \ud83d and thirty more letters of text"}"#;
    let records = [
        response(&url("nested"), head, nested.as_bytes()),
        response(&url("long"), head, long.as_bytes()),
        response(
            &url("broken"),
            head,
            &[b"<p>", [0xff_u8, 0xfe, 0x41].repeat(100).as_slice()].concat(),
        ),
        response(
            &url("binary"),
            "200 OK\r\nContent-Type: text/html",
            &[0u8; 5000],
        ),
        response(
            &url("no-packing"),
            &format!("{head}\r\nContent-Encoding: gzip"),
            html("a", &body("Ice")).as_bytes(),
        ),
    ];
    std::fs::write(work.path("a.warc"), records.concat()).unwrap();
    work.write("half.jsonl", lone);
    index(&work, &["a.warc", "half.jsonl"]).exits_with(0);
    assert_eq!(
        text(&work, &url("nested")),
        "deep words of a page that is nested"
    );
    assert_eq!(stored(&work, &url("long")).state, PageState::TooLong);
    assert!(matches!(
        stored(&work, &url("broken")).state,
        PageState::Ok | PageState::Empty
    ));
    assert_eq!(stored(&work, &url("binary")).state, PageState::Empty);
    assert_eq!(stored(&work, &url("no-packing")).state, PageState::Ok);
    assert!(text(&work, &url("half")).contains("half a character \u{fffd} and"));

    // An archive that is a bomb, or cut.
    std::fs::write(
        work.path("bomb.warc.gz"),
        gzip(&[b"WARC/1.0\r\n".as_slice(), &vec![b' '; 12 << 20]].concat()),
    )
    .unwrap();
    index(&work, &["bomb.warc.gz"])
        .exits_with(3)
        .says(&["bomb.warc.gz: cannot read: unpacks to more than 200 times its size"]);
    let cut = &records.concat()[..2_000];
    std::fs::write(work.path("cut.warc"), cut).unwrap();
    index(&work, &["cut.warc"])
        .exits_with(3)
        .says(&["cut.warc: the file ends within record 1; copy it again"]);
}

/// The rules of states against pages as they occur; all texts are made for this test.
#[test]
fn walls_differ_from_pages_about_walls_by_their_length() {
    let work = work();
    let pages = [
        ("wall", html("Just a moment...", "Enable JavaScript and cookies to continue"), PageState::Blocked),
        ("consent", html("Before you continue", "Before you continue to Example, choose your cookies."), PageState::Blocked),
        ("login", html("Library", "Please log in to read this item with your library card."), PageState::Blocked),
        ("soft", html("Page not found - Example", &body("Our other stories")), PageState::Unreachable),
        ("app", "<title>App</title><div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>".to_owned(), PageState::Empty),
        ("teaser", html("Ice", &format!("{} Subscribe to continue reading.", body("Ice"))), PageState::Teaser),
        ("about", html("How CAPTCHAs work", &format!("Sites ask: are you a robot? {}", body("The share of robots"))), PageState::Ok),
    ];
    let records: Vec<Vec<u8>> = pages
        .iter()
        .map(|(name, page, _)| {
            response(
                &format!("https://example.org/{name}"),
                "200 OK\r\nContent-Type: text/html",
                page.as_bytes(),
            )
        })
        .collect();
    std::fs::write(work.path("a.warc"), records.concat()).unwrap();
    index(&work, &["a.warc"]).exits_with(0);
    for (name, _, state) in pages {
        let page = stored(&work, &format!("https://example.org/{name}"));
        assert_eq!(page.state, state, "{name}: {}", page.reason);
    }
}

#[test]
fn a_reply_that_was_cut_is_a_page_without_an_end() {
    let work = work();
    let url = |name: &str| format!("https://example.org/{name}");
    let page = html("Ice", &body("Ice"));
    let head = "200 OK\r\nContent-Type: text/html";
    let packed = gzip(page.as_bytes());
    let chunk = format!("{:x}\r\n{page}\r\n", page.len());
    let length = |add: usize| format!("{head}\r\nContent-Length: {}", page.len() + add);
    let part = "206 Partial Content\r\nContent-Type: text/html";
    let full = format!(
        "{part}\r\nContent-Range: bytes 0-{}/{}",
        page.len() - 1,
        page.len()
    );
    let packed_head = format!("{head}\r\nContent-Encoding: gzip");
    let packed_length = format!("{packed_head}\r\nContent-Length: {}", packed.len());
    let truncated = |kind: &str| {
        let more = "WARC-Truncated: length\r\nContent-Type: text/html\r\n";
        record(kind, &url(kind), more, page.as_bytes())
    };
    let cut = [
        response(&url("short"), &length(1), page.as_bytes()),
        response(&url("part"), part, page.as_bytes()),
        response(
            &url("open"),
            &format!("{head}\r\nTransfer-Encoding: chunked"),
            chunk.as_bytes(),
        ),
        response(&url("half"), &packed_head, &packed[..packed.len() / 2]),
        response(
            &url("short-packed"),
            &format!("{packed_head}\r\nContent-Length: 9000"),
            page.as_bytes(),
        ),
        response(&url("nothing"), &length(0), b""),
        truncated("response"),
        truncated("resource"),
        truncated("conversion"),
    ];
    let whole = [
        response(&url("length"), &length(0), page.as_bytes()),
        response(&url("full"), &full, page.as_bytes()),
        response(&url("packed"), &packed_length, &packed),
        // What a crawler unpacked has the length of what came.
        response(&url("unpacked"), &packed_length, page.as_bytes()),
        response(
            &url("both"),
            &format!("{}\r\nTransfer-Encoding: chunked", length(9)),
            format!("{chunk}0\r\n\r\n").as_bytes(),
        ),
    ];
    std::fs::write(work.path("a.warc"), [cut.concat(), whole.concat()].concat()).unwrap();
    index(&work, &["a.warc"]).exits_with(0);
    for name in [
        "short",
        "part",
        "open",
        "half",
        "short-packed",
        "nothing",
        "response",
        "resource",
        "conversion",
    ] {
        let page = stored(&work, &url(name));
        assert_eq!(page.state, PageState::Cut, "{name}: {}", page.reason);
        assert!(!page.reason.is_empty());
    }
    for name in ["length", "full", "packed", "unpacked", "both"] {
        let page = stored(&work, &url(name));
        assert_eq!(page.state, PageState::Ok, "{name}: {}", page.reason);
    }
    // A record of a scraper with the status of a part; a number of a table is a status.
    let lines = [
        json!({"url": url("json"), "text": body("Ice"), "status": 206}),
        json!({"url": url("table"), "text": body("Ice"), "status": 403.0}),
    ];
    work.write("b.jsonl", &format!("{}\n{}\n", lines[0], lines[1]));
    index(&work, &["b.jsonl"]).exits_with(0);
    assert_eq!(stored(&work, &url("json")).state, PageState::Cut);
    assert_eq!(stored(&work, &url("table")).state, PageState::Blocked);
    // A whole snapshot goes first, also if it is older.
    let older = record_of(
        "09-01",
        response(&url("short"), &length(0), page.as_bytes()),
    );
    std::fs::write(work.path("c.warc"), older).unwrap();
    index(&work, &["c.warc"]).exits_with(0);
    assert_eq!(stored(&work, &url("short")).state, PageState::Ok);
}

#[test]
fn a_revisit_finds_its_original_wherever_it_is_and_one_of_a_redirect_leads_on() {
    let work = work();
    let url = |name: &str| format!("https://example.org/{name}");
    let page = html("Ice", &body("Ice"));
    let head = "200 OK\r\nContent-Type: text/html";
    let digest = |body: &[u8]| {
        format!(
            "WARC-Payload-Digest: sha1:{}\r\n",
            blake3::hash(body).to_hex()
        )
    };
    let truncated = format!("{}WARC-Truncated: length\r\n", digest(page.as_bytes()));
    let moved = b"HTTP/1.1 301 Moved\r\nLocation: /ice\r\n\r\n";
    let records = [
        response(
            &url("denied"),
            "403 Forbidden\r\nContent-Type: text/html",
            b"",
        ),
        record(
            "revisit",
            &url("again"),
            &truncated,
            b"HTTP/1.1 200 OK\r\n\r\n",
        ),
        record("revisit", &url("moved"), &digest(b""), moved),
        record("revisit", &url("other"), &digest(b"something else"), b""),
        response(&url("ice"), head, page.as_bytes()),
    ];
    std::fs::write(work.path("a.warc"), records.concat()).unwrap();
    let done = index(&work, &["a.warc"]).exits_with(0);
    assert!(done.stdout.contains("3 pages added"), "{}", done.stdout);
    for name in ["again", "moved"] {
        assert_eq!(stored(&work, &url(name)).state, PageState::Ok, "{name}");
        assert!(text(&work, &url(name)).starts_with("Ice"), "{name}");
    }
}

#[test]
fn a_date_that_cannot_be_read_is_named_with_its_line() {
    let work = work();
    let page = |number: usize, date: serde_json::Value| {
        json!({"url": format!("https://example.org/{number}"), "text": body("Ice"), "retrieved_at": date}).to_string()
    };
    let dates = [
        json!("2026-10-01 12:00 UTC"),
        json!(1_790_856_000),
        json!("Thu, 01 Oct 2026 12:00:00 GMT"),
        json!("20261001120000"),
    ];
    let lines: Vec<String> = dates
        .into_iter()
        .enumerate()
        .map(|(at, date)| page(at, date))
        .collect();
    work.write("a.jsonl", &lines.join("\n"));
    index(&work, &["a.jsonl"]).exits_with(0);
    for number in 0..4 {
        let page = stored(&work, &format!("https://example.org/{number}"));
        assert_eq!(
            page.retrieved_at.as_deref(),
            Some("2026-10-01T12:00:00Z"),
            "{number}"
        );
    }
    work.write(
        "b.jsonl",
        &[page(1, json!("2026-10-01")), page(2, json!("1.10.2026"))].join("\n"),
    );
    index(&work, &["b.jsonl"])
        .exits_with(3)
        .says(&["b.jsonl:2: retrieved_at 1.10.2026 is not a date; write it as 2026-10-01"]);
    let record = String::from_utf8(response("https://example.org/a", "200 OK", b"x")).unwrap();
    work.write(
        "c.warc",
        &record.replace("2026-10-01T12:00:00Z", "October 2026"),
    );
    index(&work, &["c.warc"])
        .exits_with(3)
        .says(&["c.warc: WARC-Date October 2026 is not a date"]);
    let saved =
        "<!DOCTYPE html><html><!--\n url: https://example.org/a\n saved date: gestern\n-->words";
    work.write("d.html", saved);
    index(&work, &["d.html"])
        .exits_with(3)
        .says(&["d.html: the date of its saving, gestern, cannot be read"]);
}

#[test]
fn an_arc_file_is_an_error_that_says_what_it_is() {
    let work = work();
    let arc = b"filedesc://a.arc 0.0.0.0 20050101000000 text/plain 76\n1 0 InternetArchive\n";
    std::fs::write(work.path("a.arc"), arc).unwrap();
    std::fs::write(work.path("b"), gzip(arc)).unwrap();
    std::fs::create_dir(work.path("crawl")).unwrap();
    std::fs::write(work.path("crawl/c.arc.gz"), gzip(arc)).unwrap();
    for source in ["a.arc", "b", "crawl"] {
        index(&work, &[source])
            .exits_with(3)
            .says(&["an ARC file", "warcio recompress"]);
    }
}

#[test]
fn routes_of_an_application_are_pages_of_their_own() {
    let work = work();
    let page = |route: &str, subject: &str| {
        json!({"url": format!("https://app.example/{route}"), "text": body(subject)}).to_string()
    };
    work.write(
        "a.jsonl",
        &[
            page("#/one", "Ice"),
            page("#!/two", "Snow"),
            page("", "Rain"),
        ]
        .join("\n"),
    );
    index(&work, &["a.jsonl"]).exits_with(0);
    for (route, subject) in [
        ("#/one", "Ice"),
        ("#!/two", "Snow"),
        ("#part", "Rain"),
        ("", "Rain"),
    ] {
        let text = text(&work, &format!("https://app.example/{route}"));
        assert!(text.starts_with(subject), "{route}: {text:.20}");
    }
}

#[test]
fn without_a_store_every_cited_page_is_missing() {
    let work = work();
    work.answers(
        "one",
        [("c1", "Ice [1](https://example.org/a).".to_owned())],
    );
    let done = work.run(&["sources", "missing", "answers"]).exits_with(0);
    assert_eq!(done.stdout, "https://example.org/a\n");
    done.says(&[
        "there is no store sources.sqlite yet",
        "1 cited pages: 1 not in the store",
    ]);
}

#[test]
fn the_library_reads_a_store_that_the_program_wrote() {
    let work = work();
    work.write(
        "pages.jsonl",
        &json!({"url": "https://example.org/a", "text": body("Ice")}).to_string(),
    );
    let sources = [work.path("pages.jsonl")];
    let report = scholareval::sources::index(&sources, &work.path("sources.sqlite")).unwrap();
    assert_eq!((report.added, report.known, report.broken), (1, 0, 0));
    assert!(Path::new(&stored(&work, "https://example.org/a").source).ends_with("pages.jsonl"));
}
