//! Reads what a system retrieved while it wrote an answer, from the answer's row.
//!
//! Services and harnesses report their searches and fetches in their own shapes, which people keep in the row as they are.
//! [`TRACE_SHAPES`] has a row for each of them; a further service is one row and its function. An answer may have several
//! (`ctxs` next to the response of a service): they are one trace.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use scholareval_core::domain::RetrievalTrace;
use scholareval_core::text::identifiers::mentions_of;

/// Redirects of Google's search: which page is behind one cannot be read from it.
const REDIRECT_HOST: &str = "vertexaisearch.cloud.google.com";

/// How tools that report failures as text begin it.
const FAILED: &str = "Error";

/// The longest text that is taken for such a failure, in bytes: pages begin with this word, too.
const FAILED_BYTES: usize = 500;

/// How a service or harness reports what a system retrieved.
pub struct TraceShape {
    /// Whose shape it is.
    pub name: &'static str,
    /// The field of the row that holds it.
    pub field: &'static str,
    /// Adds what the field holds, and returns whether it is a trace: others use these names, too.
    read: fn(&Value, &mut RetrievalTrace) -> bool,
}

/// Every shape that is read.
pub const TRACE_SHAPES: &[TraceShape] = &[
    shape("scholareval", "trace", read_plain),
    shape("RAG", "ctxs", read_sources),
    shape("RAG", "docs", read_sources),
    shape("OpenAI Responses", "output", read_openai),
    shape("Anthropic Messages", "content", read_anthropic),
    shape("Gemini", "groundingMetadata", read_gemini),
    shape("Gemini", "grounding_metadata", read_gemini),
    shape("Perplexity", "search_results", read_search_results),
    shape("Perplexity", "citations", read_numbered),
    shape("Inspect", "events", read_inspect),
    shape("GPT-Researcher", "visited_urls", read_visited),
];

const fn shape(
    name: &'static str,
    field: &'static str,
    read: fn(&Value, &mut RetrievalTrace) -> bool,
) -> TraceShape {
    TraceShape { name, field, read }
}

/// The trace in the row of an answer, a JSON object; `None` without one.
///
/// ```
/// use scholareval_dataset::trace;
/// let row = r#"{"case_id": "1", "ctxs": [{"url": "https://example.org/a", "text": "Ice."}]}"#;
/// assert_eq!(trace(row).map(|trace| trace.retrieved), Some(vec!["https://example.org/a".to_owned()]));
/// assert_eq!(trace(r#"{"case_id": "1"}"#), None);
/// assert!(trace(r#"{"case_id": "1", "ctxs": []}"#).is_some());
/// ```
pub fn trace(row: &str) -> Option<RetrievalTrace> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(row).ok()?;
    let mut trace = RetrievalTrace::default();
    let mut has_any = false;
    for shape in TRACE_SHAPES {
        let field = fields.get(shape.field);
        let value = field.and_then(|field| serde_json::from_str(field.get()).ok());
        has_any |= value.is_some_and(|value: Value| (shape.read)(&value, &mut trace));
    }
    let lists = [
        &mut trace.retrieved,
        &mut trace.searched,
        &mut trace.failed,
        &mut trace.cited,
    ];
    // Long runs see one page hundreds of times.
    for list in lists {
        let mut seen = HashSet::new();
        list.retain(|address| seen.insert(address.clone()));
    }
    has_any.then_some(trace)
}

/// A [`RetrievalTrace`] unchanged, for services and harnesses without a shape here.
fn read_plain(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let mut names = ["retrieved", "searched", "failed"].into_iter();
    let has_list = names.any(|name| value[name].is_array());
    match RetrievalTrace::deserialize(value) {
        Ok(read) if has_list => *trace = read,
        _ => return false,
    }
    true
}

/// `[{url, doi, text}]`; an object `{key: [text, title]}` has no addresses.
fn read_sources(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let sources: Vec<&Value> = match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return false,
    };
    for source in sources {
        let addresses = ["url", "doi"].map(|name| text(&source[name]));
        trace.is_partial |= addresses == [None, None];
        trace.retrieved.extend(addresses.into_iter().flatten());
    }
    true
}

/// `output` of a response: calls of the search tool, and messages with annotations.
///
/// A search lists its addresses only on request (`include: ["web_search_call.action.sources"]`).
fn read_openai(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let Some(items) = value.as_array() else {
        return false;
    };
    let mut is_trace = items.is_empty();
    for item in items {
        let kind = item["type"].as_str().unwrap_or_default();
        if kind == "web_search_call" {
            is_trace = true;
            read_openai_search(item, trace);
        } else if kind.ends_with("_call") {
            // Other tools may read pages, too.
            trace.is_partial = true;
        }
        for part in list(&item["content"]) {
            let annotations = list(&part["annotations"]);
            trace
                .cited
                .extend(annotations.filter_map(|annotation| text(&annotation["url"])));
        }
    }
    is_trace
}

fn read_openai_search(call: &Value, trace: &mut RetrievalTrace) {
    let action = &call["action"];
    let is_failed = call["status"] == "failed";
    match (action["type"].as_str(), text(&action["url"])) {
        (Some("search"), _) => {
            let sources = list(&action["sources"]);
            trace
                .searched
                .extend(sources.filter_map(|source| text(&source["url"])));
            trace.is_partial |= !is_failed && !action["sources"].is_array();
        }
        (_, Some(url)) if is_failed => trace.failed.push(url),
        (_, Some(url)) => trace.retrieved.push(url),
        (_, None) => trace.is_partial |= !is_failed,
    }
}

/// `content` of a message: results of the search and fetch tools, whose texts the model has, and texts with citations.
fn read_anthropic(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let Some(blocks) = value.as_array() else {
        return false;
    };
    let mut is_trace = blocks.is_empty();
    // The addresses of fetches, by the ids of their calls.
    let mut fetches = BTreeMap::new();
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "server_tool_use" => {
                fetches.insert(block["id"].as_str(), text(&block["input"]["url"]));
            }
            "web_search_tool_result" => {
                is_trace = true;
                let results = list(&block["content"]);
                trace
                    .retrieved
                    .extend(results.filter_map(|result| text(&result["url"])));
            }
            "web_fetch_tool_result" => {
                is_trace = true;
                let result = &block["content"];
                let asked = fetches.remove(&block["tool_use_id"].as_str()).flatten();
                if result["type"] == "web_fetch_tool_result_error" {
                    trace.failed.extend(asked);
                } else {
                    trace.retrieved.extend(asked);
                    trace.retrieved.extend(text(&result["url"]));
                }
            }
            // What a tool of the caller returns is not in the message.
            "tool_use" => trace.is_partial = true,
            _ => {}
        }
        for citation in list(&block["citations"]) {
            let kind = citation["type"].as_str().unwrap_or_default();
            let cited = text(&citation["url"]).or_else(|| text(&citation["source"]));
            // These have the words of a result, which the service checks.
            if kind.ends_with("search_result_location") {
                is_trace = true;
                trace.retrieved.extend(cited.clone());
            }
            // Inspect has those of other services in this place, without their searches.
            trace.is_partial |= kind == "url";
            trace.cited.extend(cited);
        }
    }
    is_trace
}

/// `groundingMetadata` of a candidate. The pages behind redirects are unknown.
fn read_gemini(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let mut addresses = Vec::new();
    for chunk in list(either(value, ["groundingChunks", "grounding_chunks"])) {
        let context = either(chunk, ["retrievedContext", "retrieved_context"]);
        let address = text(&chunk["web"]["uri"]).or_else(|| text(&context["uri"]));
        let is_page = address
            .as_ref()
            .is_some_and(|address| !address.contains(REDIRECT_HOST));
        trace.is_partial |= !is_page;
        addresses.push(address);
    }
    for support in list(either(value, ["groundingSupports", "grounding_supports"])) {
        let indices = either(
            support,
            ["groundingChunkIndices", "grounding_chunk_indices"],
        );
        for index in list(indices).filter_map(Value::as_u64) {
            let address = usize::try_from(index).ok().and_then(|at| addresses.get(at));
            trace.cited.extend(address.cloned().flatten());
        }
    }
    trace.retrieved.extend(addresses.into_iter().flatten());
    value.is_object()
}

/// `search_results` of a response, whose texts the model has.
fn read_search_results(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let results = list(value).filter_map(|result| text(&result["url"]));
    add_numbered(results.collect(), trace);
    value.is_array()
}

/// `citations` of a response: the addresses that the numbers of markers mean. Others have objects there.
fn read_numbered(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let addresses: Vec<String> = list(value).filter_map(text).collect();
    let is_trace = !addresses.is_empty();
    add_numbered(addresses, trace);
    is_trace
}

fn add_numbered(addresses: Vec<String>, trace: &mut RetrievalTrace) {
    trace.retrieved.extend(addresses.iter().cloned());
    if !addresses.is_empty() {
        trace.numbered = addresses;
    }
}

/// `events` of a sample: each call of a tool. What a call without an address returns are the results of a search.
fn read_inspect(value: &Value, trace: &mut RetrievalTrace) -> bool {
    let Some(events) = value.as_array() else {
        return false;
    };
    let mut is_trace = events.is_empty();
    for event in events {
        is_trace |= event["event"].is_string();
        if event["event"] == "tool" {
            read_inspect_tool(event, trace);
        }
    }
    is_trace
}

fn read_inspect_tool(event: &Value, trace: &mut RetrievalTrace) {
    let mut result = String::new();
    push_texts(&event["result"], &mut result);
    let is_error = result.starts_with(FAILED) && result.len() <= FAILED_BYTES;
    let is_failed = is_error || !event["error"].is_null();
    match text(&event["arguments"]["url"]) {
        Some(url) if is_failed => trace.failed.push(url),
        Some(url) => trace.retrieved.push(url),
        // The links of a page that was opened are not results of a search.
        None => {
            let addresses = mentions_of(&result).into_iter().map(str::to_owned);
            trace.searched.extend(addresses);
        }
    }
}

/// `visited_urls`: the pages that were read.
fn read_visited(value: &Value, trace: &mut RetrievalTrace) -> bool {
    trace.retrieved.extend(list(value).filter_map(text));
    value.is_array()
}

/// Adds the texts within a value, a line each.
fn push_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
        Value::Array(parts) => parts.iter().for_each(|part| push_texts(part, out)),
        Value::Object(fields) => fields.values().for_each(|field| push_texts(field, out)),
        _ => {}
    }
}

/// The field of one of these names: services write them in camel case, their libraries with underscores.
fn either<'a>(value: &'a Value, [name, other]: [&str; 2]) -> &'a Value {
    match &value[name] {
        Value::Null => &value[other],
        given => given,
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text that is not empty.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The lists of the trace in a row, and whether it is partial.
    fn lists(row: Value) -> ([String; 5], bool) {
        let trace = trace(&row.to_string()).unwrap_or_else(|| panic!("no trace: {row}"));
        let lists = [
            trace.retrieved,
            trace.searched,
            trace.failed,
            trace.cited,
            trace.numbered,
        ];
        (lists.map(|list| list.join(" ")), trace.is_partial)
    }

    fn expect(row: Value, lists_of_trace: [&str; 5], is_partial: bool) {
        let expected = (lists_of_trace.map(str::to_owned), is_partial);
        assert_eq!(lists(row.clone()), expected, "{row}");
    }

    #[test]
    fn searches_of_openai_list_addresses_only_on_request() {
        let search = |sources: Value| json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "sources": sources}});
        let found = search(
            json!([{"type": "url", "url": "https://a.org"}, {"type": "api", "name": "oai-weather"}]),
        );
        let find = json!({"type": "web_search_call", "action": {"type": "find_in_page", "url": "https://b.org", "pattern": "ice"}});
        let message = json!({"type": "message", "content": [{"annotations": [{"type": "url_citation", "url": "https://c.org"}]}]});
        let row = json!({"output": [{"type": "reasoning"}, found, find, message]});
        expect(
            row,
            ["https://b.org", "https://a.org", "", "https://c.org", ""],
            false,
        );
        expect(
            json!({"output": [search(Value::Null)]}),
            ["", "", "", "", ""],
            true,
        );
        let other = json!({"type": "mcp_call", "output": "https://d.org"});
        expect(
            json!({"output": [search(json!([])), other]}),
            ["", "", "", "", ""],
            true,
        );
    }

    #[test]
    fn fetches_of_anthropic_that_fail_have_the_address_of_their_call() {
        let call = |id: &str, url: &str| json!({"type": "server_tool_use", "id": id, "name": "web_fetch", "input": {"url": url}});
        let page = json!({"type": "web_fetch_result", "url": "https://a.org/final", "content": {}});
        let fault =
            json!({"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"});
        let content = json!([
            call("1", "https://a.org"),
            {"type": "web_fetch_tool_result", "tool_use_id": "1", "content": page},
            call("2", "https://b.org"),
            {"type": "web_fetch_tool_result", "tool_use_id": "2", "content": fault},
            {"type": "text", "text": "..", "citations": [
                {"type": "search_result_location", "source": "https://c.org", "search_result_index": 0},
                {"type": "page_location", "document_index": 0},
            ]},
        ]);
        let retrieved = "https://a.org https://a.org/final https://c.org";
        expect(
            json!({"content": content}),
            [retrieved, "", "https://b.org", "https://c.org", ""],
            false,
        );
        let error = json!([{"type": "web_search_tool_result", "content": {"type": "web_search_tool_result_error"}}]);
        expect(json!({"content": error}), ["", "", "", "", ""], false);
    }

    #[test]
    fn redirects_of_gemini_hide_pages_and_both_spellings_are_read() {
        let page = json!({"web": {"uri": "https://a.org", "title": "a.org"}});
        let redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/X";
        let metadata = |chunks: Value| json!({"grounding_chunks": chunks, "grounding_supports": [{"grounding_chunk_indices": [0, 9]}]});
        let row = json!({"grounding_metadata": metadata(json!([page]))});
        expect(row, ["https://a.org", "", "", "https://a.org", ""], false);
        let row = json!({"groundingMetadata": metadata(json!([{"web": {"uri": redirect}}]))});
        expect(row, [redirect, "", "", redirect, ""], true);
        expect(
            json!({"groundingMetadata": {}}),
            ["", "", "", "", ""],
            false,
        );
    }

    #[test]
    fn numbers_of_perplexity_mean_its_citations_or_else_its_results() {
        let results = json!([{"title": "A", "url": "https://a.org", "snippet": ".."}]);
        expect(
            json!({"search_results": results}),
            ["https://a.org", "", "", "", "https://a.org"],
            false,
        );
        let row =
            json!({"search_results": results, "citations": ["https://b.org", "https://a.org"]});
        let both = "https://b.org https://a.org";
        expect(
            row,
            ["https://a.org https://b.org", "", "", "", both],
            false,
        );
        assert_eq!(trace(r#"{"citations": [{"id": 1, "title": "A"}]}"#), None);
    }

    #[test]
    fn tools_of_inspect_open_what_they_are_given_and_see_what_they_return() {
        let tool = |arguments: Value, result: Value| json!({"event": "tool", "function": "f", "arguments": arguments, "result": result, "error": null});
        let mut refused = tool(json!({"url": "https://c.org"}), json!(""));
        refused["error"] = json!({"type": "timeout", "message": "30 s"});
        let events = json!([
            {"event": "model", "output": {"completion": "https://no.org"}},
            tool(json!({"query": "ice"}), json!([{"type": "text", "text": "1. <https://a.org/x>: ice, doi:10.4321/b"}])),
            tool(json!({"url": "https://a.org/x"}), json!("Ice. https://link.org")),
            tool(json!({"url": "https://b.org"}), json!("Error: 404")),
            refused,
        ]);
        let failed = "https://b.org https://c.org";
        expect(
            json!({"events": events}),
            [
                "https://a.org/x",
                "https://a.org/x doi:10.4321/b",
                failed,
                "",
                "",
            ],
            false,
        );
    }

    #[test]
    fn several_shapes_are_one_trace_and_fields_of_others_are_none() {
        let row = json!({
            "trace": {"retrieved": ["https://a.org"], "searched": ["https://b.org"]},
            "visited_urls": ["https://c.org"],
            "ctxs": [{"url": "https://d.org", "doi": "10.4321/d", "text": "D"}],
        });
        expect(
            row,
            [
                "https://a.org https://d.org 10.4321/d https://c.org",
                "https://b.org",
                "",
                "",
                "",
            ],
            false,
        );
        expect(
            json!({"docs": {"1": ["text", "title"]}}),
            ["", "", "", "", ""],
            true,
        );
        for row in [
            json!({"trace": {"steps": 7}, "output": "text", "content": "text", "events": null}),
            json!({"trace": {"retrieved": [7]}, "events": [1], "ctxs": 7, "visited_urls": "https://a.org"}),
            json!({"output": [{"type": "message", "content": []}], "content": [{"type": "text", "text": ".."}]}),
            json!([]),
        ] {
            assert_eq!(trace(&row.to_string()), None, "{row}");
        }
        for field in [
            "ctxs",
            "output",
            "content",
            "search_results",
            "events",
            "visited_urls",
        ] {
            expect(json!({field: []}), ["", "", "", "", ""], false);
        }
    }
}
