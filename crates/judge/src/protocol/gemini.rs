//! Google's Gemini API: `POST /v1beta/models/MODEL:generateContent`.
//!
//! - The model stands in the address. A stream has another address (`:streamGenerateContent?alt=sse`), and the same
//!   body.
//! - The parameters stand in `generationConfig`; members of that name in the user's extra body are merged with ours, such
//!   as `{"generationConfig": {"stopSequences": ["\n"]}}`.
//! - A schema is sent as `responseJsonSchema`, which takes JSON Schema as it is; `responseSchema` knows only a part of it.
//! - `--reasoning-effort` is a level (`thinkingLevel`) from Gemini 3 on, and a budget of tokens (`thinkingBudget`) before; both
//!   together are an error. A name without a generation, such as `gemini-flash-latest`, is one of today's models, until its
//!   service refuses levels. No model can be kept from thinking from Gemini 3 on; before, a budget of 0 does that.
//! - What the service refuses to judge or to say is a reply, with the finish reason `refusal`.
//! - A quota per day ends a run, even beside a wait of some seconds that the error asks for; other quotas are waited for.
//!
//! Sources: ai.google.dev, "Generating content" (`GenerateContentRequest`, `GenerationConfig`, `GenerateContentResponse`,
//! `FinishReason`, `BlockReason`), "Models", "Thinking", "Structured output", "Troubleshooting" (statuses of errors); the
//! members of `details` are google.rpc's `ErrorInfo`, `QuotaFailure` and `RetryInfo` (googleapis, `error_details.proto`).

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum as _;
use serde_json::{Map, Value, json};

use super::completion::{self, MENDED, tokens};
use super::events::StreamReader;
use super::{
    BodyFault, ErrorFacts, ListedModel, Members, ParameterForm, Protocol, ServiceAddress,
    WireRequest, in_path,
};
use crate::capacity::Capacity;
use crate::forms::Effort;
use crate::parameter::Parameter;
use crate::prompt::Messages;
use scholareval_core::domain::{JudgeReply, ModelEnd};

/// Gemini.
pub(crate) static GEMINI: GeminiProtocol = GeminiProtocol;

static ADDRESS: ServiceAddress = ServiceAddress {
    name: "Google",
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    default_path: "/v1beta",
    host: "generativelanguage.googleapis.com",
    key_variable: "GEMINI_API_KEY",
    key_beginning: "AIza",
    address_variable: None,
};

/// The member with the parameters.
const SETTINGS: &str = "generationConfig";
const WHOLE: &str = ":generateContent";
const STREAM: &str = ":streamGenerateContent";
/// The largest budget that every model with budgets takes (that of Gemini 2.5 Flash).
const LARGEST_BUDGET: u64 = 24_576;
/// How the shared table of errors names a quota that is renewed once a day.
const QUOTA_PER_DAY: &str = "quota_per_day";
/// The first generation that takes levels, and always thinks.
const LEVELS_SINCE: u32 = 3;
/// How errors name a level or a budget.
const THINKING: &[&str] = &["thinking", "thinkingLevel", "thinkingBudget"];
/// Finish reasons of replies that the service blocked.
const BLOCKED: [&str; 9] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
    "MODEL_ARMOR",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
];
/// Finish reasons of replies that the limit of tokens cut, that of the call or that of one request.
const CUT: [&str; 2] = ["MAX_TOKENS", "CONTINUATION"];

static PARAMETERS: [ParameterForm; 9] = [
    ParameterForm::left_out(Parameter::Temperature, "temperature", &["temperature"]),
    ParameterForm::left_out(Parameter::TopP, "topP", &["topP", "top_p"]),
    ParameterForm::left_out(Parameter::Seed, "seed", &["seed"]),
    ParameterForm::left_out(
        Parameter::Logprobs,
        "responseLogprobs",
        &[
            "responseLogprobs",
            "response_logprobs",
            "logprobs",
            "Logprobs",
        ],
    ),
    ParameterForm::left_out(
        Parameter::Schema,
        "responseJsonSchema",
        &[
            "responseJsonSchema",
            "response_json_schema",
            "response_schema",
            "schema",
            "mode",
        ],
    ),
    // "JSON mode is not enabled for this model"
    ParameterForm::left_out(
        Parameter::ResponseFormat,
        "responseMimeType",
        &["responseMimeType", "response_mime_type", "mode"],
    ),
    ParameterForm::left_out(
        Parameter::MaxTokens,
        "maxOutputTokens",
        &["maxOutputTokens", "max_output_tokens"],
    ),
    ParameterForm::left_out(
        Parameter::ThinkingLevel,
        "thinkingConfig.thinkingLevel",
        THINKING,
    ),
    ParameterForm::left_out(Parameter::Effort, "thinkingConfig", THINKING),
];

/// See the module.
#[derive(Debug)]
pub(crate) struct GeminiProtocol;

impl Protocol for GeminiProtocol {
    fn address(&self) -> &'static ServiceAddress {
        &ADDRESS
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn path(&self) -> &'static str {
        "/models/MODEL:generateContent"
    }

    fn route(&self, model: &str, is_streaming: bool) -> Cow<'static, str> {
        // The list of models writes the prefix, other places do not; both are names that users
        // copy.
        let model = in_path(model.strip_prefix("models/").unwrap_or(model));
        // Tuned models are in another collection.
        let collection = if model.starts_with("tunedModels/") {
            ""
        } else {
            "models/"
        };
        let method = if is_streaming { STREAM } else { WHOLE };
        let query = if is_streaming { "?alt=sse" } else { "" };
        format!("/{collection}{model}{method}{query}").into()
    }

    fn without_route<'a>(&self, path: &'a str) -> &'a str {
        match path.split_once("/models/") {
            Some((base, call)) if call.ends_with(WHOLE) || call.ends_with(STREAM) => base,
            _ => path,
        }
    }

    /// By default a page of the list has 50 models.
    fn models_route(&self) -> &'static str {
        "/models?pageSize=1000"
    }

    /// Its replies say when a model ends, the list does not.
    fn model_route(&self, _model: &str) -> Option<String> {
        None
    }

    fn key_route(&self) -> Value {
        json!("gemini")
    }

    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a> {
        vec![
            ("systemInstruction", json!("")),
            ("contents", json!("")),
            (SETTINGS, settings(request)),
            ("serviceTier", json!(request.tier)),
        ]
    }

    fn settings_member(&self) -> Option<&'static str> {
        Some(SETTINGS)
    }

    fn texts(&self, messages: &Messages) -> Members<'static> {
        let system = messages.system.as_ref();
        let system = system.map_or(Value::Null, |text| json!({"parts": [{"text": text}]}));
        let user = json!([{"role": "user", "parts": [{"text": messages.user}]}]);
        vec![("systemInstruction", system), ("contents", user)]
    }

    fn texts_of(&self, body: &Value) -> String {
        let turns = body["contents"].as_array().into_iter().flatten();
        [&body["systemInstruction"]]
            .into_iter()
            .chain(turns)
            .flat_map(|turn| turn["parts"].as_array().into_iter().flatten())
            .filter_map(|part| part["text"].as_str())
            .collect()
    }

    fn limit_field<'a>(&self, _chosen: &'a str) -> &'a str {
        "maxOutputTokens"
    }

    fn parameters(&self) -> &'static [ParameterForm] {
        &PARAMETERS
    }

    /// Those of all models with levels; one that does not take a level, or a budget of 0, says so.
    fn efforts(&self, model: &str, _capabilities: &Value) -> Option<Vec<Effort>> {
        let all = Effort::value_variants().iter().copied();
        let levels = all.filter(|effort| !matches!(effort, Effort::None | Effort::Max));
        has_levels(model).then(|| levels.collect())
    }

    fn repeats_with_schema(&self) -> bool {
        true
    }

    fn reply_member(&self) -> &'static str {
        "\"candidates\""
    }

    fn read(&self, body: Value, latency_ms: u64) -> Result<JudgeReply, BodyFault> {
        let status = &body["modelStatus"];
        let end = ModelEnd::stated(&status["retirementTime"], &status["modelStage"]);
        let reply = completion::read(&completion(body), latency_ms)?;
        Ok(JudgeReply { end, ..reply })
    }

    /// The address asks for the stream.
    fn streaming_body(&self, body: &Bytes) -> Option<Bytes> {
        Some(body.clone())
    }

    fn stream(&self) -> Box<dyn StreamReader> {
        Box::<GeminiStream>::default()
    }

    fn error_facts(&self, error: &Value) -> ErrorFacts {
        let mut facts = ErrorFacts::default();
        facts.reasons.extend(text(&error["status"]));
        for detail in error["details"].as_array().into_iter().flatten() {
            facts.reasons.extend(text(&detail["reason"]));
            let violations = detail["violations"].as_array().into_iter().flatten();
            let mut quotas = violations.filter_map(|violation| violation["quotaId"].as_str());
            if quotas.any(|id| id.contains("PerDay")) {
                facts.reasons.push(QUOTA_PER_DAY.to_owned());
            }
            facts.wait = facts.wait.or(seconds(&detail["retryDelay"]));
        }
        facts
    }

    fn models(&self, list: &Value) -> Vec<ListedModel> {
        let entries = list["models"].as_array().map_or(&[][..], Vec::as_slice);
        entries.iter().filter_map(listed).collect()
    }
}

/// The parameters, without those that are not sent.
fn settings(request: &WireRequest<'_>) -> Value {
    let is_json = request.schema.is_some() || request.json_mode;
    let members = [
        ("temperature", json!(request.temperature)),
        ("topP", json!(request.top_p)),
        ("maxOutputTokens", json!(request.limit)),
        (
            "responseMimeType",
            json!(is_json.then_some("application/json")),
        ),
        ("responseJsonSchema", json!(request.bare_schema())),
        ("seed", json!(request.seed)),
        ("responseLogprobs", json!(request.logprobs.map(|_| true))),
        ("logprobs", json!(request.logprobs)),
        (
            "thinkingConfig",
            json!(request.effort.map(|effort| thinking(effort, request))),
        ),
    ];
    let mut settings = Map::new();
    for (name, value) in members {
        if !value.is_null() {
            settings.insert(name.to_owned(), value);
        }
    }
    Value::Object(settings)
}

/// The level of an effort, or its budget: the room that a reply limit has for it.
fn thinking(effort: Effort, request: &WireRequest<'_>) -> Value {
    if has_levels(request.model) && !request.by_budget {
        return json!({"thinkingLevel": Effort::names([effort]).to_ascii_uppercase()});
    }
    json!({"thinkingBudget": effort.tokens().min(LARGEST_BUDGET)})
}

/// Whether the model takes levels, by the generation in its name: 3 of `models/gemini-3.5-flash`.
fn has_levels(model: &str) -> bool {
    let (_, version) = model.rsplit_once("gemini-").unwrap_or_default();
    let number = version.split(|c: char| !c.is_ascii_digit()).next();
    let generation = number.and_then(|digits| digits.parse::<u32>().ok());
    generation.is_none_or(|generation| generation >= LEVELS_SINCE)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A duration as protocol buffers write it in JSON: `"22s"`, `"0.5s"`.
fn seconds(value: &Value) -> Option<Duration> {
    let number = value.as_str()?.strip_suffix('s')?.parse::<f64>().ok()?;
    Duration::try_from_secs_f64(number.max(0.0)).ok()
}

/// An entry of the list of models; those that answer no prompts (embeddings) are left out.
fn listed(entry: &Value) -> Option<ListedModel> {
    let name = entry["name"].as_str().filter(|name| !name.is_empty())?;
    if let Some(methods) = entry["supportedGenerationMethods"].as_array()
        && !methods.iter().any(|method| method == "generateContent")
    {
        return None;
    }
    Some(ListedModel {
        id: name.strip_prefix("models/").unwrap_or(name).to_owned(),
        capacity: Capacity::of(&entry["inputTokenLimit"], false),
        ..ListedModel::default()
    })
}

/// A response as a chat completion; an error and other JSON stay as they are.
fn completion(mut response: Value) -> Value {
    let Some(choices) = choices(&response) else {
        return response;
    };
    let usage = usage(&response["usageMetadata"]);
    let model = response["modelVersion"].take();
    if let Some(members) = response.as_object_mut() {
        members.insert("choices".to_owned(), choices);
        members.insert("usage".to_owned(), usage);
        members.insert("model".to_owned(), model);
    }
    response
}

/// The choices of a response; `None` if it is none.
///
/// A blocked prompt has no candidates and a reason. A response with neither but with a count of tokens is paid, and empty.
fn choices(response: &Value) -> Option<Value> {
    let members = response.as_object()?;
    match members.get("candidates").filter(|list| !list.is_null()) {
        Some(Value::Array(candidates)) if !candidates.is_empty() => {
            Some(json!([choice(&candidates[0])]))
        }
        Some(other) if !other.is_array() => Some(other.clone()),
        list => {
            if let Some(reason) = block_reason(response) {
                return Some(json!([refused_prompt(reason, response)]));
            }
            let is_empty = list.is_some() || response["usageMetadata"].is_object();
            (is_empty && response["error"].is_null()).then(|| json!([]))
        }
    }
}

fn block_reason(response: &Value) -> Option<&str> {
    response.pointer("/promptFeedback/blockReason")?.as_str()
}

/// The reply to a prompt that was not shown to the model.
fn refused_prompt(reason: &str, response: &Value) -> Value {
    let why = response.pointer("/promptFeedback/blockReasonMessage");
    let words = match why.and_then(Value::as_str) {
        Some(message) => format!("the prompt was blocked ({reason}): {message}"),
        None => format!("the prompt was blocked ({reason})"),
    };
    json!({"message": {"content": null, "refusal": words}, "finish_reason": "refusal"})
}

/// A candidate as a choice. Thoughts do not belong to the text.
fn choice(candidate: &Value) -> Value {
    let parts = candidate["content"]["parts"].as_array();
    let parts = parts.map_or(&[][..], Vec::as_slice);
    let (thoughts, shown): (Vec<&Value>, Vec<&Value>) =
        parts.iter().partition(|part| part["thought"] == true);
    let reasoning: String = thoughts
        .into_iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let mut message = json!({"content": shown, "reasoning_content": reasoning});
    let reason = candidate["finishReason"].as_str().unwrap_or_default();
    let finish = match reason {
        "" => Value::Null,
        "STOP" => json!("stop"),
        cut if CUT.contains(&cut) => json!("length"),
        // A blocked reply is the service's answer, and the next attempt would get the same; as a
        // failure it would be retried to the end.
        blocked if BLOCKED.contains(&blocked) => {
            message["refusal"] = json!(format!("the reply was blocked ({blocked})"));
            json!("refusal")
        }
        other => json!(other.to_ascii_lowercase()),
    };
    let logprobs = logprobs(&candidate["logprobsResult"]);
    json!({"message": message, "finish_reason": finish, "logprobs": logprobs})
}

/// Token probabilities as those of a chat; null where there are none.
fn logprobs(result: &Value) -> Value {
    let Some(chosen) = result["chosenCandidates"].as_array() else {
        return Value::Null;
    };
    let mut tokens = Vec::new();
    for (place, token) in chosen.iter().enumerate() {
        let top = result["topCandidates"][place]["candidates"].as_array();
        let top: Vec<Value> = top.into_iter().flatten().map(token_logprob).collect();
        let mut token = token_logprob(token);
        token["top_logprobs"] = json!(top);
        tokens.push(token);
    }
    json!({"content": tokens})
}

fn token_logprob(token: &Value) -> Value {
    json!({"token": token["token"], "logprob": token["logProbability"]})
}

/// The tokens of a response. Those of the thoughts are not among the candidates', and are paid like these.
fn usage(usage: &Value) -> Value {
    let thoughts = "thoughtsTokenCount";
    json!({
        "prompt_tokens": usage["promptTokenCount"],
        "prompt_tokens_details": {"cached_tokens": usage["cachedContentTokenCount"]},
        "completion_tokens": tokens(usage, &["candidatesTokenCount", thoughts]),
        "completion_tokens_details": {"reasoning_tokens": usage[thoughts]},
    })
}

/// A response that is being received: each event is a response with the next parts of its candidate.
#[derive(Debug, Default)]
struct GeminiStream {
    has_candidates: bool,
    parts: Vec<Value>,
    /// The last of each of the candidate's other members.
    candidate: Map<String, Value>,
    chosen: Vec<Value>,
    top: Vec<Value>,
    /// The last of each of the responses' other members.
    members: Map<String, Value>,
}

impl StreamReader for GeminiStream {
    fn push(&mut self, mut event: Map<String, Value>) {
        if self.is_whole() {
            // An error after the whole reply does not concern it; the reply is paid for.
            event.remove("error");
        }
        self.has_candidates |= event.contains_key("candidates");
        for name in [
            "usageMetadata",
            "modelVersion",
            "modelStatus",
            "promptFeedback",
            "error",
            MENDED,
        ] {
            if let Some(value) = event.remove(name).filter(|value| !value.is_null()) {
                self.members.insert(name.to_owned(), value);
            }
        }
        if let Some(Value::Array(mut candidates)) = event.remove("candidates")
            && !candidates.is_empty()
            && let Value::Object(candidate) = candidates.swap_remove(0)
            && candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0
        {
            self.push_candidate(candidate);
        }
    }

    fn is_whole(&self) -> bool {
        let reason = self.candidate.get("finishReason").and_then(Value::as_str);
        let feedback = self.members.get("promptFeedback");
        reason.is_some_and(|reason| !reason.is_empty())
            || feedback.is_some_and(|feedback| feedback["blockReason"].is_string())
    }

    fn texts(&self) -> Vec<&str> {
        let parts = self.parts.iter();
        parts.filter_map(|part| part["text"].as_str()).collect()
    }

    fn finish(mut self: Box<Self>, is_broken: bool) -> Option<Value> {
        if let Some(error) = self.members.remove("error") {
            return Some(json!({"error": error}));
        }
        if is_broken || !self.is_whole() {
            return None;
        }
        let mut response = Value::Object(self.members);
        if self.has_candidates {
            let mut candidate = Value::Object(self.candidate);
            candidate["content"] = json!({"role": "model", "parts": self.parts});
            if !self.chosen.is_empty() {
                candidate["logprobsResult"] =
                    json!({"chosenCandidates": self.chosen, "topCandidates": self.top});
            }
            response["candidates"] = json!([candidate]);
        }
        Some(response)
    }
}

impl GeminiStream {
    fn push_candidate(&mut self, mut candidate: Map<String, Value>) {
        if let Some(mut content) = candidate.remove("content")
            && let Value::Array(parts) = content["parts"].take()
        {
            self.parts.extend(parts);
        }
        if let Some(mut logprobs) = candidate.remove("logprobsResult") {
            append(&mut self.chosen, logprobs["chosenCandidates"].take());
            append(&mut self.top, logprobs["topCandidates"].take());
        }
        self.candidate.extend(candidate);
    }
}

fn append(list: &mut Vec<Value>, more: Value) {
    if let Value::Array(more) = more {
        list.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::RequestOptions;
    use crate::kind::JudgeKind;
    use crate::protocol::events::Assembly;
    use scholareval_core::question::PROPERTY;

    fn options() -> RequestOptions {
        RequestOptions {
            endpoint: JudgeKind::Gemini,
            ..RequestOptions::new("gemini-2.5-flash")
        }
    }

    fn body(options: &RequestOptions) -> Value {
        let messages = Messages::new(Some("be fair".to_owned()), "rate this");
        let rendered = options.render(&PROPERTY, &options.prompt(messages, true), 0, 0);
        serde_json::from_slice(&rendered.body.bytes).unwrap()
    }

    #[test]
    fn a_request_has_its_parameters_in_one_member() {
        let sent = body(&RequestOptions {
            seed: Some(7),
            reasoning_effort: Some(Effort::Low),
            ..options()
        });
        let expected = json!({
            "systemInstruction": {"parts": [{"text": "be fair"}]},
            "contents": [{"role": "user", "parts": [{"text": "rate this"}]}],
            "generationConfig": {
                "temperature": 0.0, "maxOutputTokens": 100, "responseMimeType": "application/json", "seed": 7,
                "thinkingConfig": {"thinkingBudget": 4000},
            },
        });
        assert_eq!(sent, expected);
    }

    #[test]
    fn an_effort_is_a_level_from_the_third_generation_on_and_a_budget_before() {
        let thinking = |model: &str, effort, by_budget| {
            let options = RequestOptions {
                reasoning_effort: Some(effort),
                thinks_by_budget: by_budget,
                model: model.to_owned(),
                ..options()
            };
            body(&options)["generationConfig"]["thinkingConfig"].clone()
        };
        for model in [
            "gemini-3.8-flash",
            "models/gemini-3-pro",
            "gemini-3.5-flash-lite",
            "gemini-4-argon",
            "gemini-10-x",
            "gemini-flash-latest",
            "tunedModels/mine",
        ] {
            let level = json!({"thinkingLevel": "LOW"});
            assert_eq!(thinking(model, Effort::Low, false), level, "{model}");
            let budget = json!({"thinkingBudget": 4_000});
            assert_eq!(thinking(model, Effort::Low, true), budget, "{model}");
            let efforts = GEMINI.efforts(model, &Value::Null).unwrap();
            assert_eq!(Effort::names(efforts), "minimal, low, medium, high, xhigh");
        }
        for model in [
            "gemini-2.5-pro",
            "models/gemini-2.0-flash",
            "google/gemini-2.5-flash",
        ] {
            for (effort, tokens) in [
                (Effort::None, 0),
                (Effort::Medium, 12_000),
                (Effort::Max, LARGEST_BUDGET),
            ] {
                let budget = json!({"thinkingBudget": tokens});
                assert_eq!(thinking(model, effort, false), budget, "{model}");
            }
            assert_eq!(GEMINI.efforts(model, &Value::Null), None);
        }
    }

    #[test]
    fn new_reasons_of_the_end_are_cuts_refusals_and_failures() {
        let reason = |name: &str| {
            let parts = json!([{"text": "a"}]);
            let candidate = json!({"content": {"parts": parts}, "finishReason": name});
            choice(&candidate)["finish_reason"].clone()
        };
        assert_eq!(reason("CONTINUATION"), "length");
        for blocked in [
            "LANGUAGE",
            "MODEL_ARMOR",
            "ESCALATION",
            "PUP_LIMITED_DISABLED",
        ] {
            assert_eq!(reason(blocked), "refusal", "{blocked}");
        }
        assert_eq!(reason("MALFORMED_RESPONSE"), "malformed_response");
    }

    #[test]
    fn the_users_settings_are_merged_and_win() {
        let mut options = options();
        let extra =
            json!({"generationConfig": {"topK": 1, "maxOutputTokens": 9}, "safetySettings": []});
        options.extra_body = extra.as_object().unwrap().clone();
        let settings = json!({"temperature": 0.0, "responseMimeType": "application/json", "maxOutputTokens": 9, "topK": 1});
        let sent = body(&options);
        assert_eq!(
            (&sent["generationConfig"], &sent["safetySettings"]),
            (&settings, &json!([]))
        );
        let rendered = options.render(
            &PROPERTY,
            &options.prompt(Messages::new(None, "u"), true),
            0,
            0,
        );
        assert_eq!(rendered.max_tokens, Some(9));
        let left = [Parameter::Temperature, Parameter::ResponseFormat];
        assert_eq!(
            rendered.parameters, left,
            "what the user set is not ours to leave out"
        );
    }

    #[test]
    fn a_schema_is_sent_as_it_is_and_replaced_by_json_mode() {
        let schema = json!({"type": "object", "additionalProperties": false});
        let options = RequestOptions {
            schema: Some(json!({"name": "n", "schema": schema})),
            ..options()
        };
        let settings = &body(&options)["generationConfig"];
        assert_eq!(settings["responseJsonSchema"], schema);
        let without = &body(&options.without(Parameter::Schema))["generationConfig"];
        assert_eq!(without["responseMimeType"], "application/json");
        assert!(without.get("responseJsonSchema").is_none());
    }

    #[test]
    fn the_model_is_a_part_of_the_address() {
        let route = |model: &str, is_streaming| GEMINI.route(model, is_streaming).into_owned();
        assert_eq!(
            route("gemini-2.5-pro", false),
            "/models/gemini-2.5-pro:generateContent"
        );
        let stream = "/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
        assert_eq!(route("models/gemini-2.5-pro", true), stream);
        assert_eq!(
            route("tunedModels/mine", false),
            "/tunedModels/mine:generateContent"
        );
        assert_eq!(route("a?b#c", false), "/models/a%3Fb%23c:generateContent");
        let pasted = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";
        assert_eq!(GEMINI.without_route(pasted), "/v1beta");
        assert_eq!(GEMINI.without_route("/x/models/y"), "/x/models/y");
    }

    fn reply(response: Value) -> JudgeReply {
        GEMINI.read(response, 1).unwrap()
    }

    fn candidate(reason: &str, parts: Value) -> Value {
        json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}]})
    }

    #[test]
    fn a_reply_is_read_with_its_thoughts_its_model_and_its_tokens() {
        let mut response = candidate(
            "MAX_TOKENS",
            json!([{"text": "hm", "thought": true}, {"text": "a"}, {"text": "b"}]),
        );
        response["modelVersion"] = json!("gemini-2.5-flash");
        response["usageMetadata"] = json!({"promptTokenCount": 20, "cachedContentTokenCount": 4,
            "candidatesTokenCount": 3, "thoughtsTokenCount": 7, "totalTokenCount": 30});
        let reply = reply(response);
        assert_eq!(
            (&*reply.content, reply.reasoning.as_deref()),
            ("ab", Some("hm"))
        );
        assert!(reply.is_cut());
        assert_eq!(reply.model.as_deref(), Some("gemini-2.5-flash"));
        let usage = reply.usage;
        assert_eq!((usage.prompt_tokens, usage.cached_prompt_tokens), (20, 4));
        // 3 of the text and 7 of the thoughts
        assert_eq!((usage.completion_tokens, usage.reasoning_tokens), (10, 7));
    }

    #[test]
    fn a_blocked_prompt_and_a_blocked_reply_are_refusals() {
        let prompt = reply(
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": 12}}),
        );
        assert_eq!(prompt.finish_reason.as_deref(), Some("refusal"));
        assert_eq!(
            prompt.content,
            "the prompt was blocked (PROHIBITED_CONTENT)"
        );
        assert_eq!(prompt.usage.prompt_tokens, 12);
        let blocked = reply(json!({"candidates": [{"finishReason": "SAFETY"}]}));
        assert_eq!(blocked.finish_reason.as_deref(), Some("refusal"));
        assert_eq!(blocked.content, "the reply was blocked (SAFETY)");
        let partly = reply(candidate("RECITATION", json!([{"text": "{\"score\": 3}"}])));
        assert_eq!(partly.finish_reason.as_deref(), Some("refusal"));
        assert_eq!(partly.content, "{\"score\": 3}");
    }

    #[test]
    fn what_is_no_response_is_no_reply() {
        let error = json!({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"});
        let read = |response: Value| GEMINI.read(response, 1);
        assert_eq!(read(json!({"error": error})), Err(BodyFault::Error(error)));
        for other in [json!({"candidates": null}), json!({"choices": 7}), json!(7)] {
            if other["choices"].is_null() {
                assert_eq!(
                    read(other.clone()),
                    Err(BodyFault::NotACompletion),
                    "{other}"
                );
            }
        }
        let empty = reply(json!({"usageMetadata": {"promptTokenCount": 5}}));
        assert_eq!(
            (&*empty.content, empty.usage.prompt_tokens),
            ("", 5),
            "it is paid"
        );
    }

    #[test]
    fn probabilities_are_those_of_a_chat() {
        let mut response = candidate("STOP", json!([{"text": "7"}]));
        response["candidates"][0]["logprobsResult"] = json!({
            "chosenCandidates": [{"token": "7", "tokenId": 1, "logProbability": -0.5}],
            "topCandidates": [{"candidates": [
                {"token": "7", "logProbability": -0.5}, {"token": "8", "logProbability": -1.0}]}],
        });
        let tokens = reply(response).logprobs.unwrap();
        assert_eq!((&*tokens[0].token, tokens[0].logprob), ("7", -0.5));
        assert_eq!(tokens[0].top[1], ("8".to_owned(), -1.0));
        let mut preference = candidate("STOP", json!([{"text": "M"}]));
        preference["candidates"][0]["logprobsResult"] = json!({
            "chosenCandidates": [{"token": "M", "logProbability": -0.5}],
            "topCandidates": [{"candidates": [
                {"token": "M", "logProbability": -0.5}, {"token": "m", "logProbability": -1.0}]}],
        });
        let tokens = reply(preference).logprobs.unwrap();
        assert_eq!(tokens[0].top[1], ("m".to_owned(), -1.0));
    }

    fn streamed(events: &[Value]) -> Option<Value> {
        let mut assembly = Assembly::new(GEMINI.stream());
        for event in events {
            assembly.push(format!("data: {event}\r\n\r\n").as_bytes());
        }
        let body = assembly.finish()?;
        serde_json::from_slice(&body).ok()
    }

    #[test]
    fn a_stream_is_put_together_and_a_cut_one_is_no_reply() {
        let piece = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}, "index": 0}]});
        let end = json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5}, "modelVersion": "m"});
        let late = json!({"error": {"code": 500}});
        let whole = streamed(&[piece("{\"score\""), piece(": 7}"), end, late]).unwrap();
        let reply = reply(whole);
        assert_eq!(
            (&*reply.content, reply.model.as_deref()),
            ("{\"score\": 7}", Some("m"))
        );
        assert_eq!(reply.usage.prompt_tokens, 5);
        assert_eq!(streamed(&[piece("{\"score\"")]), None);
        let error = json!({"error": {"code": 503, "message": "overloaded"}});
        assert_eq!(streamed(&[piece("x"), error.clone()]), Some(error));
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        assert_eq!(streamed(std::slice::from_ref(&blocked)), Some(blocked));
    }

    #[test]
    fn an_error_names_its_reason_its_wait_and_a_quota_per_day() {
        let quota = |id: &str| {
            GEMINI.error_facts(&json!({"code": 429, "message": "You exceeded your current quota",
                "status": "RESOURCE_EXHAUSTED", "details": [
                    {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "22.5s"}]}))
        };
        let minute = quota("GenerateRequestsPerMinutePerProjectPerModel");
        assert_eq!(minute.wait, Some(Duration::from_millis(22_500)));
        assert_eq!(minute.reasons, ["RESOURCE_EXHAUSTED"]);
        let day = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
        assert_eq!(day.reasons, ["RESOURCE_EXHAUSTED", QUOTA_PER_DAY]);
    }

    #[test]
    fn models_that_answer_prompts_are_listed_with_their_capacity() {
        let list = json!({"models": [
            {"name": "models/gemini-2.5-pro", "inputTokenLimit": 1_048_576, "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
            {"name": ""},
        ]});
        let models = GEMINI.models(&list);
        assert_eq!(models.len(), 1);
        assert_eq!(models[0].id, "gemini-2.5-pro");
        assert_eq!(models[0].capacity.unwrap().context_tokens, 1_048_576);
    }
}
