//! Bodies of calls: canonical bytes, sent as they are, and the cache keys of calls.
//!
//! The fingerprint is blake3 over a JSON list of everything that decides a reply, and the texts of the prompt. It does not
//! hold URL, key, model alias (the judge's identity covers it) or the name of the limit field, so that the same judge
//! under another address finds its replies again. What a body looks like is the business of its protocol (`judge/protocol/`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::forms::{Effort, ServiceTier};
use super::kind::JudgeKind;
use super::parameter::Parameter;
use super::protocol::{Protocol, WhenRefused, WireRequest};
use super::{Body, Rendered};
use crate::prompt::{Messages, Prompt};
use scholareval_core::domain::Fingerprint;
use scholareval_core::question::{KINDS, Kind, KindInfo, ReplyKind};

/// How far the seeds of two samples are apart, so that attempts (counted by one) of different samples never meet.
const SEEDS_PER_SAMPLE: i64 = 1000;
/// The limit field of most servers.
const MAX_TOKENS: &str = "max_tokens";
/// Bytes of a body besides its texts.
const ROOM_FOR_MEMBERS: usize = 1024;
/// Name and version of what is hashed; changes with every change of the list.
const ENCODING: &str = "scholareval call 1";

/// What is sent besides the messages, and in which form.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// The kind of judge, which names the protocol.
    pub endpoint: JudgeKind,
    /// The address of its servers, which some protocols depend on; no part of the fingerprint.
    pub base_url: String,
    /// How raw prompts mark their turns; other protocols have no use for it.
    pub conversation: Conversation,
    /// The model's name as the server lists it.
    pub model: String,
    /// Sampling temperature; `None` sends none.
    pub temperature: Option<f64>,
    /// Share of the probability that is sampled from, above 0 and at most 1; `None` sends none.
    pub top_p: Option<f64>,
    /// How many alternatives of each token come back with their probabilities; `None` asks for none.
    pub logprobs: Option<u32>,
    /// Base seed; `None` sends none. Sample d and attempt a send `seed + 1000 d + a`.
    pub seed: Option<i64>,
    /// Whether to ask for a JSON object, where the protocol can: of the kinds whose reply is JSON.
    pub json_mode: bool,
    /// The schema to ask for in place of JSON mode, where the protocol can; `None` asks for none.
    pub schema: Option<Value>,
    /// How much the model reasons; `None` sends nothing.
    pub reasoning_effort: Option<Effort>,
    /// Whether an effort is sent as a budget of tokens where the protocol has levels, too; no part of the fingerprint.
    pub thinks_by_budget: bool,
    /// What the model's entry states about its parameters (`capabilities`); null for nothing. It decides how a request is
    /// written, and is no part of the fingerprint.
    pub capabilities: Arc<Value>,
    /// How soon the reply is wanted; no part of the fingerprint. `None` sends nothing.
    pub service_tier: Option<ServiceTier>,
    /// The reply limit in tokens of each kind; no entry, no limit.
    pub max_tokens: BTreeMap<Kind, u64>,
    /// The name of the limit field in chat: `max_tokens` or `max_completion_tokens`. Other protocols have one name.
    pub max_tokens_field: String,
    /// Further members of the body; one of the same name as a parameter of ours replaces it.
    pub extra_body: Map<String, Value>,
    /// The judge's identity, part of every fingerprint (see `judge::identity::judge_id`).
    pub judge_id: String,
    /// The identity that earlier versions gave the judge, if it was another one (see `judge::identity::earlier_judge_id`).
    pub earlier_judge_id: Option<String>,
}

impl RequestOptions {
    /// The rubric reference's parameters for `model`: chat, temperature 0, JSON mode, no seed, and the default limits of
    /// [`JudgeKind::default_max_tokens`]. The judge's identity is the model's name until the server has been asked.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            endpoint: JudgeKind::Chat,
            base_url: String::new(),
            conversation: Conversation::None,
            judge_id: model.clone(),
            earlier_judge_id: None,
            model,
            temperature: Some(0.0),
            top_p: None,
            logprobs: None,
            seed: None,
            json_mode: true,
            schema: None,
            reasoning_effort: None,
            thinks_by_budget: false,
            capabilities: Arc::default(),
            service_tier: None,
            max_tokens: default_limits(JudgeKind::Chat),
            max_tokens_field: MAX_TOKENS.to_owned(),
            extra_body: Map::new(),
        }
    }

    /// The same under the identity that earlier versions gave the judge, for the keys of their replies.
    pub(super) fn under_earlier_identity(&self) -> Option<Self> {
        Some(Self {
            judge_id: self.earlier_judge_id.clone()?,
            ..self.clone()
        })
    }

    fn protocol(&self) -> &'static dyn Protocol {
        self.endpoint.protocol_at(&self.base_url)
    }

    /// The same without this parameter, or with its other name, if the protocol has it.
    #[must_use]
    pub fn without(&self, parameter: Parameter) -> Self {
        let mut options = self.clone();
        let Some(form) = self.protocol().parameter(parameter) else {
            return options;
        };
        if let WhenRefused::Renamed(name) = form.when_refused {
            name.clone_into(&mut options.max_tokens_field);
            return options;
        }
        match parameter {
            Parameter::Temperature => options.temperature = None,
            Parameter::TopP => options.top_p = None,
            Parameter::Seed => options.seed = None,
            Parameter::Logprobs => options.logprobs = None,
            Parameter::Schema => options.schema = None,
            Parameter::ResponseFormat => options.json_mode = false,
            Parameter::MaxTokens | Parameter::MaxCompletionTokens => options.max_tokens.clear(),
            Parameter::ThinkingLevel => options.thinks_by_budget = true,
            // The renderer does not set the one or decides by call, and the last one ends the run.
            Parameter::ListLimit | Parameter::Room | Parameter::Effort => {}
        }
        options
    }

    /// The prompt of these messages. Control tokens inside raw prompts are made harmless with `neutralize`; not for published
    /// wordings, which are sent byte for byte. See [`Conversation::render`].
    pub fn prompt(&self, messages: Messages, neutralize: bool) -> Arc<Prompt> {
        let protocol = self.protocol();
        let raw = protocol.raw_prompt(&messages, self.conversation, neutralize);
        Arc::new(Prompt::new(messages, raw))
    }

    /// The limit that is sent where this one is wanted. Where the protocol requires one, the reasoning has its room there.
    fn sent_limit(&self, limit: Option<u64>) -> Option<u64> {
        let reasoning = self.reasoning_effort.map_or(0, Effort::tokens);
        let required = self.protocol().required_limit();
        limit.or(required.map(|limit| limit + reasoning))
    }

    fn asks_json_mode(&self, kind: &KindInfo) -> bool {
        let form = self.protocol().parameter(Parameter::ResponseFormat);
        form.is_some() && self.json_mode && is_json(kind)
    }

    fn asked_schema(&self, kind: &KindInfo) -> Option<&Value> {
        self.protocol().parameter(Parameter::Schema)?;
        self.schema.as_ref().filter(|_| is_json(kind))
    }

    /// The cache key of one call under this reply limit: the hash of everything that decides a reply, with the number of the
    /// sample and of the attempt.
    pub fn fingerprint(
        &self,
        kind: &KindInfo,
        prompt: &Prompt,
        (sample, attempt): (u32, u32),
        limit: Option<u64>,
    ) -> Fingerprint {
        let form = match self.asked_schema(kind) {
            Some(schema) => schema.clone(),
            None => json!(self.asks_json_mode(kind)),
        };
        let mut sampling = vec![
            json!(self.sent_temperature()),
            json!(self.top_p),
            json!(self.sent_limit(limit)),
            form,
            json!(self.seed),
            // Always empty; the place stays, since every cached key would change without it.
            json!([]),
            json!(self.logprobs),
        ];
        // Only where it is given, so that keys from before this option stay valid.
        sampling.extend(self.reasoning_effort.map(|effort| json!(effort)));
        // The lengths stand in the head: without them the end of the system text could be moved
        // into the user's without another hash.
        let texts = || prompt.sent().texts();
        let lengths: Vec<usize> = texts().map(str::len).collect();
        let head = json!([
            ENCODING,
            kind.name,
            self.judge_id,
            sample,
            attempt,
            self.protocol().key_route(),
            sampling,
            sorted(&self.extra_body),
            lengths
        ]);
        // In one piece: blake3 hashes many kilobytes at once faster than the same bytes piece by piece, of which the first
        // ends inside a block.
        let mut hashed = head.to_string();
        hashed.reserve_exact(lengths.iter().sum());
        hashed.extend(texts());
        Fingerprint::from(blake3::hash(hashed.as_bytes()))
    }

    /// Two zeros are one temperature.
    fn sent_temperature(&self) -> Option<f64> {
        self.temperature.map(|temperature| temperature + 0.0)
    }

    fn sent_seed(&self, sample: u32, attempt: u32) -> Option<i64> {
        let of_sample = i64::from(sample) * SEEDS_PER_SAMPLE;
        let seed = self.seed?.wrapping_add(of_sample);
        Some(seed.wrapping_add(i64::from(attempt)))
    }

    /// The body and the fingerprint of one call.
    ///
    /// Members stand in the fixed order of the protocol, then the extra ones sorted by name (at every depth).
    pub fn render(
        &self,
        kind: &KindInfo,
        prompt: &Arc<Prompt>,
        sample: u32,
        attempt: u32,
    ) -> Rendered {
        let given = self.max_tokens.get(&kind.kind()).copied();
        let fingerprint = self.fingerprint(kind, prompt, (sample, attempt), given);
        let protocol = self.protocol();
        let request = WireRequest {
            model: &self.model,
            kind,
            temperature: self.sent_temperature(),
            top_p: self.top_p,
            limit: self.sent_limit(given),
            limit_field: protocol.limit_field(&self.max_tokens_field),
            schema: self.asked_schema(kind),
            json_mode: self.asks_json_mode(kind),
            seed: self.sent_seed(sample, attempt),
            logprobs: self.logprobs,
            effort: self.reasoning_effort,
            by_budget: self.thinks_by_budget,
            capabilities: &self.capabilities,
            tier: self.service_tier,
        };
        let written = Written::new(protocol, &request, &self.extra_body);
        let texts = Arc::clone(prompt);
        Rendered {
            model: self.model.clone(),
            max_tokens: written.max_tokens,
            parameters: written.parameters,
            prompt: Some(Arc::clone(prompt)),
            is_deterministic: written.is_deterministic,
            ..Rendered::new(fingerprint, move || {
                with_texts(protocol, written.members, texts)
            })
        }
    }
}

/// A request without its texts.
struct Written {
    members: Map<String, Value>,
    /// The reply limit that is sent: that of the user's members, if they have one.
    max_tokens: Option<u64>,
    /// Parameters that could be left out: those of ours that no member of the user replaces.
    parameters: Vec<Parameter>,
    /// The temperature that is sent is 0.
    is_deterministic: bool,
}

impl Written {
    fn new(protocol: &dyn Protocol, request: &WireRequest<'_>, extra: &Map<String, Value>) -> Self {
        let mut members = Map::new();
        for (name, value) in protocol.fields(request) {
            if !value.is_null() {
                members.insert(name.to_owned(), value);
            }
        }
        let extra = sorted(extra);
        let our_settings = settings_of(protocol, &members);
        let users = settings_of(protocol, &extra);
        // The two may stand in one member.
        let other_form = if request.schema.is_some() {
            Parameter::ResponseFormat
        } else {
            Parameter::Schema
        };
        let mut parameters = Vec::new();
        for form in protocol.parameters() {
            let is_ours = our_settings.is_some_and(|settings| has_field(settings, form.field));
            // A parameter that the user set is not dropped when the server refuses it: the user
            // must hear of it.
            let is_replaced = users.is_some_and(|users| users.contains_key(form.root()));
            if is_ours && !is_replaced && form.parameter != other_form {
                parameters.push(form.parameter);
            }
        }
        let users_limit = users.and_then(|users| users.get(request.limit_field));
        let max_tokens = users_limit.map_or(request.limit, Value::as_u64);
        add_users(protocol, &mut members, &extra);
        let temperature = settings_of(protocol, &members).and_then(|all| all.get("temperature"));
        Self {
            is_deterministic: temperature.and_then(Value::as_f64) == Some(0.0),
            members,
            max_tokens,
            parameters,
        }
    }
}

/// Whether there is such a member; a dot leads to one of a member.
fn has_field(members: &Map<String, Value>, field: &str) -> bool {
    let Some((root, member)) = field.split_once('.') else {
        return members.contains_key(field);
    };
    members
        .get(root)
        .is_some_and(|root| root.get(member).is_some())
}

/// The members that hold the parameters.
fn settings_of<'a>(
    protocol: &dyn Protocol,
    members: &'a Map<String, Value>,
) -> Option<&'a Map<String, Value>> {
    match protocol.settings_member() {
        Some(name) => members.get(name)?.as_object(),
        None => Some(members),
    }
}

/// Adds the user's members behind ours; they replace ours of the same name, except that the member with the parameters
/// is merged.
fn add_users(
    protocol: &dyn Protocol,
    members: &mut Map<String, Value>,
    extra: &Map<String, Value>,
) {
    for (name, value) in extra {
        if protocol.settings_member() == Some(name)
            && let Some(Value::Object(settings)) = members.get_mut(name)
            && let Value::Object(users) = value
        {
            replace_all(settings, users);
        } else {
            members.shift_remove(name);
            members.insert(name.clone(), value.clone());
        }
    }
}

/// Puts the members of `users` behind those of `members` that have other names.
fn replace_all(members: &mut Map<String, Value>, users: &Map<String, Value>) {
    for (name, value) in users {
        members.shift_remove(name);
        members.insert(name.clone(), value.clone());
    }
}

/// The body with the texts of the prompt in their places.
fn with_texts(
    protocol: &'static dyn Protocol,
    members: Map<String, Value>,
    prompt: Arc<Prompt>,
) -> Body {
    Body::new(prompt.sent_tokens(), move || {
        serialized(protocol, members, prompt.sent())
    })
}

fn serialized(
    protocol: &dyn Protocol,
    mut members: Map<String, Value>,
    messages: &Messages,
) -> Bytes {
    for (name, value) in protocol.texts(messages) {
        if value.is_null() {
            members.shift_remove(name);
        } else {
            members.insert(name.to_owned(), value);
        }
    }
    let length: usize = messages.texts().map(str::len).sum();
    // Room for what is escaped, so that a body of many kilobytes is not copied while it grows.
    let mut bytes = Vec::with_capacity(length + length / 16 + ROOM_FOR_MEMBERS);
    let body = Value::Object(members);
    match serde_json::to_writer(&mut bytes, &body) {
        Ok(()) => Bytes::from(bytes),
        // Values are always written to memory; only the type of the writer allows an error.
        Err(_) => Bytes::from(body.to_string()),
    }
}

/// True for the kinds whose reply is a JSON object: JSON mode would make a judge write anything but a grade or a label.
fn is_json(kind: &KindInfo) -> bool {
    kind.reply == ReplyKind::Json
}

fn default_limits(endpoint: JudgeKind) -> BTreeMap<Kind, u64> {
    let limit = |info: &KindInfo| Some((info.kind(), endpoint.default_max_tokens(info)?));
    KINDS.into_iter().filter_map(limit).collect()
}

/// The same object with its members sorted by name at every depth.
fn sorted(object: &Map<String, Value>) -> Map<String, Value> {
    let mut object = object.clone();
    object.sort_keys();
    object.values_mut().for_each(Value::sort_all_objects);
    object
}

#[cfg(test)]
mod tests;
