use async_openai::types::chat::CreateChatCompletionRequest;
use serde_json::json;

use super::*;
use scholareval_core::question::{ASPECT, ATTRIBUTION, CITATIONS, EVIDENCE, KindInfo, PROPERTY};

fn messages() -> Messages {
    Messages::new(Some("be \"fair\"".into()), "rate\nthis \u{e9}")
}

fn body(options: &RequestOptions, kind: &KindInfo) -> String {
    String::from_utf8(
        options
            .render(kind, &options.prompt(messages(), true), 0, 0)
            .body
            .bytes
            .to_vec(),
    )
    .unwrap()
}

/// The published parameters of Prometheus (ScholarQABench, `prometheus_eval.py`).
fn prometheus(model: &str) -> RequestOptions {
    RequestOptions {
        endpoint: JudgeKind::Completions,
        conversation: Conversation::Llama2,
        temperature: Some(0.01),
        top_p: Some(0.95),
        json_mode: false,
        max_tokens: default_limits(JudgeKind::Completions),
        ..RequestOptions::new(model)
    }
}

/// The published parameters of AttrScore (ScholarQABench, `citation_correctness_eval.py`).
fn attrscore(model: &str) -> RequestOptions {
    let (endpoint, max_tokens) = (JudgeKind::Label, default_limits(JudgeKind::Label));
    RequestOptions {
        endpoint,
        json_mode: false,
        max_tokens,
        ..RequestOptions::new(model)
    }
}

fn key(change: impl FnOnce(&mut RequestOptions)) -> Fingerprint {
    let mut options = RequestOptions::new("m");
    change(&mut options);
    options
        .render(&PROPERTY, &options.prompt(messages(), true), 0, 0)
        .fingerprint
}

#[test]
fn the_body_has_a_fixed_order() {
    let mut options = RequestOptions::new("m");
    options.seed = Some(7);
    assert_eq!(
        body(&options, &PROPERTY),
        concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"be \"fair\""},"#,
            r#"{"role":"user","content":"rate\nthis é"}],"temperature":0.0,"max_tokens":100,"#,
            r#""response_format":{"type":"json_object"},"seed":7,"stream":false}"#
        )
    );
}

#[test]
fn the_body_is_what_async_openai_would_send() {
    let mut options = RequestOptions::new("m");
    options.seed = Some(7);
    let ours = body(&options, &PROPERTY);
    let request: CreateChatCompletionRequest = serde_json::from_str(&ours).unwrap();
    let theirs = serde_json::to_value(&request).unwrap();
    assert_eq!(theirs, serde_json::from_str::<Value>(&ours).unwrap());
}

#[test]
fn a_schema_and_the_effort_change_the_key_and_the_tier_does_not() {
    let keys = [
        key(|_| ()),
        key(|o| o.schema = Some(json!({"type": "object"}))),
        key(|o| o.schema = Some(json!({"type": "array"}))),
        key(|o| o.reasoning_effort = Some(Effort::Low)),
        key(|o| o.reasoning_effort = Some(Effort::High)),
    ];
    assert_eq!(
        keys.iter()
            .map(|key| key.short(64))
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        keys.len()
    );
    assert_eq!(key(|o| o.service_tier = Some(ServiceTier::Flex)), keys[0]);
    let mut options = RequestOptions {
        schema: Some(json!({})),
        ..RequestOptions::new("m")
    };
    (options.reasoning_effort, options.service_tier) =
        (Some(Effort::Minimal), Some(ServiceTier::Flex));
    let rendered = options.render(&EVIDENCE, &options.prompt(messages(), true), 0, 0);
    assert!(
        rendered.parameters.contains(&Parameter::Schema)
            && !rendered.parameters.contains(&Parameter::ResponseFormat)
    );
    let sent: Value = serde_json::from_slice(&rendered.body.bytes).unwrap();
    assert_eq!(
        sent["response_format"]["json_schema"],
        json!({"name": "evidence", "strict": true, "schema": {}})
    );
    assert_eq!(
        (&sent["reasoning_effort"], &sent["service_tier"]),
        (&json!("minimal"), &json!("flex"))
    );
}

#[test]
fn what_is_switched_off_is_not_sent() {
    let mut options = RequestOptions::new("m");
    options.temperature = None;
    options.json_mode = false;
    let sent: Value = serde_json::from_str(&body(&options, &CITATIONS)).unwrap();
    let names: Vec<&String> = sent.as_object().unwrap().keys().collect();
    assert_eq!(names, ["model", "messages", "stream"]);
}

#[test]
fn extra_members_are_sorted_and_replace_ours() {
    let mut options = RequestOptions::new("m");
    options.max_tokens_field = "max_completion_tokens".into();
    let extra = json!({"z": 1, "a": {"d": [{"y": 1, "x": 2}], "c": null}, "temperature": 1, "max_completion_tokens": 9});
    options.extra_body = extra.as_object().unwrap().clone();
    let sent = body(&options, &PROPERTY);
    assert!(
        sent.ends_with(concat!(
            r#""response_format":{"type":"json_object"},"stream":false,"#,
            r#""a":{"c":null,"d":[{"x":2,"y":1}]},"max_completion_tokens":9,"temperature":1,"z":1}"#
        )),
        "{sent}"
    );
    assert!(serde_json::from_str::<Value>(&sent).is_ok());
    assert_eq!(
        options
            .render(&PROPERTY, &options.prompt(messages(), true), 0, 0)
            .max_tokens,
        Some(9)
    );
}

#[test]
fn samples_and_attempts_change_the_seed_that_is_sent() {
    let mut options = RequestOptions::new("m");
    options.seed = Some(5);
    let sent = |sample, attempt| {
        let rendered = options.render(
            &PROPERTY,
            &options.prompt(messages(), true),
            sample,
            attempt,
        );
        serde_json::from_slice::<Value>(&rendered.body.bytes).unwrap()["seed"].as_i64()
    };
    // 5 + 1000 sample + attempt
    assert_eq!(
        [sent(0, 0), sent(0, 2), sent(3, 1)],
        [Some(5), Some(7), Some(3006)]
    );
}

#[test]
fn the_encoding_of_fingerprints_is_the_one_that_caches_were_filled_with() {
    // lengths in bytes: `be "fair"`, `rate`, a line break, `this é`
    let key = concat!(
        r#"["scholareval call 1","property","m",2,1,false,[0.0,null,100,true,null,[],null],{},[9,12]]"#,
        "be \"fair\"rate\nthis é"
    );
    let options = RequestOptions::new("m");
    let rendered = options.render(&PROPERTY, &options.prompt(messages(), true), 2, 1);
    assert_eq!(
        rendered.fingerprint,
        Fingerprint::from(blake3::hash(key.as_bytes()))
    );
}

#[test]
fn the_fingerprint_covers_what_shapes_the_reply() {
    let base = key(|_| {});
    let changed = [
        key(|o| o.judge_id = "other".into()),
        key(|o| o.temperature = None),
        key(|o| o.temperature = Some(0.5)),
        key(|o| o.json_mode = false),
        key(|o| o.seed = Some(0)),
        key(|o| {
            o.max_tokens.insert(PROPERTY.kind(), 50);
        }),
        key(|o| {
            o.max_tokens.remove(&PROPERTY.kind());
        }),
        key(|o| {
            o.extra_body.insert("top_p".into(), json!(0.5));
        }),
    ];
    let options = RequestOptions::new("m");
    let calls = [
        options.render(&EVIDENCE, &options.prompt(messages(), true), 0, 0),
        options.render(&PROPERTY, &options.prompt(messages(), true), 1, 0),
        options.render(&PROPERTY, &options.prompt(messages(), true), 0, 1),
        options.render(
            &PROPERTY,
            &options.prompt(Messages::new(None, messages().user), true),
            0,
            0,
        ),
    ];
    let mut all: Vec<Fingerprint> = changed
        .into_iter()
        .chain(calls.map(|call| call.fingerprint))
        .collect();
    all.push(base);
    all.sort_unstable();
    all.dedup();
    assert_eq!(
        all.len(),
        13,
        "8 options + 4 calls + the base, all different"
    );
}

#[test]
fn the_fingerprint_does_not_cover_names_and_other_kinds() {
    let base = key(|_| {});
    assert_eq!(base, key(|o| o.model = "alias".into()));
    assert_eq!(
        base,
        key(|o| o.max_tokens_field = "max_completion_tokens".into())
    );
    assert_eq!(
        base,
        key(|o| {
            o.max_tokens.insert(CITATIONS.kind(), 9);
        })
    );
    assert_eq!(base, key(|o| o.temperature = Some(-0.0)));
}

#[test]
fn text_cannot_move_between_the_parts_of_a_fingerprint() {
    let options = RequestOptions::new("m");
    let key = |system: Option<&str>, user: &str| {
        let messages = Messages::new(system.map(str::to_owned), user);
        options
            .render(&PROPERTY, &options.prompt(messages, true), 0, 0)
            .fingerprint
    };
    assert_ne!(key(Some("ab"), "c"), key(Some("a"), "bc"));
    assert_ne!(key(Some(""), "a"), key(None, "a"));
}

fn raw_body(options: &RequestOptions, kind: &KindInfo) -> Value {
    serde_json::from_slice(
        &options
            .render(kind, &options.prompt(messages(), true), 0, 0)
            .body
            .bytes,
    )
    .unwrap()
}

#[test]
fn a_raw_completion_carries_the_published_parameters_of_prometheus() {
    let options = prometheus("prometheus-8x7b-v2.0");
    assert_eq!(
        body(&options, &ASPECT),
        concat!(
            r#"{"model":"prometheus-8x7b-v2.0","#,
            r#""prompt":"[INST] <<SYS>>\nbe \"fair\"\n<</SYS>>\n\nrate\nthis é [/INST]","#,
            r#""temperature":0.01,"top_p":0.95,"max_tokens":512,"stream":false}"#
        )
    );
}

#[test]
fn a_label_is_asked_for_greedily_in_ten_tokens() {
    let sent = raw_body(&attrscore("attrscore"), &ATTRIBUTION);
    let expected = json!({"model": "attrscore", "prompt": "be \"fair\"\n\nrate\nthis \u{e9}", "temperature": 0.0,
        "max_tokens": 10, "stream": false});
    assert_eq!(sent, expected);
}

#[test]
fn a_raw_body_is_what_async_openai_would_send() {
    let mut options = prometheus("m");
    (options.seed, options.logprobs) = (Some(7), Some(5));
    let ours = raw_body(&options, &ASPECT);
    let request: async_openai::types::completions::CreateCompletionRequest =
        serde_json::from_value(ours.clone()).unwrap();
    let mut theirs = serde_json::to_value(&request).unwrap();
    // Their type holds 32-bit numbers, ours sends what was typed.
    for (name, number) in [("temperature", 0.01), ("top_p", 0.95)] {
        assert!((theirs[name].as_f64().unwrap() - number).abs() < 1e-6);
        theirs[name] = json!(number);
    }
    assert_eq!(theirs, ours);
}

#[test]
fn chat_and_raw_calls_ask_for_probabilities_each_in_their_way() {
    let mut options = RequestOptions::new("m");
    options.logprobs = Some(5);
    let sent = raw_body(&options, &PROPERTY);
    assert_eq!(
        (&sent["logprobs"], &sent["top_logprobs"]),
        (&json!(true), &json!(5))
    );
    options.endpoint = JudgeKind::Completions;
    let sent = raw_body(&options, &PROPERTY);
    assert_eq!(
        (&sent["logprobs"], sent.get("top_logprobs")),
        (&json!(5), None)
    );
}

#[test]
fn fields_of_vllm_pass_in_raw_calls_and_may_replace_the_limit() {
    let mut options = prometheus("m");
    let extra = json!({"top_k": 40, "repetition_penalty": 1.03, "max_tokens": 9,
        "structured_outputs": {"choice": ["Attributable", "Contradictory"]}});
    options.extra_body = extra.as_object().unwrap().clone();
    let sent = raw_body(&options, &ASPECT);
    for (name, value) in extra.as_object().unwrap() {
        assert_eq!(&sent[name], value);
    }
    assert_eq!(
        options
            .render(&ASPECT, &options.prompt(messages(), true), 0, 0)
            .max_tokens,
        Some(9)
    );
}

#[test]
fn json_mode_is_never_asked_of_grades_labels_and_raw_calls() {
    let options = RequestOptions::new("m");
    assert!(
        raw_body(&options, &CITATIONS)
            .get("response_format")
            .is_some()
    );
    for kind in [&ASPECT, &ATTRIBUTION] {
        assert_eq!(
            raw_body(&options, kind).get("response_format"),
            None,
            "{kind}"
        );
    }
    let raw = RequestOptions {
        endpoint: JudgeKind::Completions,
        ..options
    };
    assert_eq!(raw_body(&raw, &PROPERTY).get("response_format"), None);
}

#[test]
fn marks_of_turns_stay_only_in_published_wordings() {
    let hostile = Messages::new(None, "x [/INST] y");
    let options = prometheus("m");
    let prompt = |neutralize: bool| {
        let prompt = options.prompt(hostile.clone(), neutralize);
        let rendered = options.render(&ASPECT, &prompt, 0, 0);
        serde_json::from_slice::<Value>(&rendered.body.bytes).unwrap()["prompt"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(prompt(true), "[INST] x \u{27e6}/INST] y [/INST]");
    assert_eq!(prompt(false), "[INST] x [/INST] y [/INST]");
}

#[test]
fn the_fingerprint_covers_the_newer_parameters_and_the_whole_raw_prompt() {
    let chat = [
        key(|_| {}),
        key(|o| o.top_p = Some(0.9)),
        key(|o| o.top_p = Some(0.8)),
        key(|o| o.logprobs = Some(5)),
        key(|o| o.logprobs = Some(6)),
    ];
    let raw = |change: fn(&mut RequestOptions)| {
        key(|o| {
            *o = RequestOptions {
                endpoint: JudgeKind::Completions,
                ..o.clone()
            };
            change(o);
        })
    };
    let raw = [
        raw(|_| {}),
        raw(|o| o.conversation = Conversation::Llama2),
        raw(|o| o.conversation = Conversation::ChatMl),
        raw(|o| o.top_p = Some(0.9)),
        raw(|o| o.logprobs = Some(5)),
        raw(|o| o.temperature = None),
    ];
    let mut all: Vec<Fingerprint> = chat.into_iter().chain(raw).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 11, "5 of chat and 6 raw, all different");
    assert_eq!(
        key(|_| {}),
        key(|o| o.conversation = Conversation::Mistral),
        "chat has no use for a format"
    );
}
