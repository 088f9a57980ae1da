//! Cache keys, call ids and request bodies of every kind of question over every wire form, pinned byte by byte.
//!
//! A change of one of these makes users pay again for replies that they have, or sends the judge another question. Where
//! that is wanted, `cargo insta review` (or `INSTA_UPDATE=always`) accepts the new lines, and CHANGELOG.md says so.

use std::fmt::Write as _;
use std::sync::Arc;

use clap::ValueEnum as _;
use scholareval::domain::{
    Aspect, CaseCriterion, Level, ReplyForm, ReplyShape, ReportLanguage, Role, ShownCitation,
    ShownText,
};
use scholareval::judge::Rendered;
use scholareval::judge::body::RequestOptions;
use scholareval::judge::conversation::Conversation;
use scholareval::judge::decider::Decider;
use scholareval::judge::decision_bounds::DecisionBounds;
use scholareval::judge::forms::{Effort, ServiceTier, Structured};
use scholareval::judge::kind::JudgeKind;
use scholareval::judge::render::Renderer;
use scholareval::prompt::PromptSet;
use scholareval::question::{
    AspectGrade, BetterAnswer, Citations, CitedStatements, CriteriaLevels, DistinctStatements,
    Expertise, IrrelevantParagraphs, JudgeCall, KINDS, NamedStatement, PageSupport, PairForm,
    Property, Question, SectionCitations, SnippetEvidence, SourceSupport,
};
use scholareval::record::call_id;

/// A call with its name in the snapshot.
type Named<T> = (&'static str, T);

fn criterion(name: &str, text: &str) -> CaseCriterion {
    CaseCriterion {
        name: name.to_owned(),
        text: text.into(),
        weight: 1.0,
        ..CaseCriterion::default()
    }
}

fn level(level: &str, credit: f64) -> Level {
    Level {
        also: Default::default(),
        level: level.into(),
        credit,
        means: format!("the answer is {level}"),
    }
}

fn shape(form: ReplyForm, second: &str) -> Arc<ReplyShape> {
    Arc::new(ReplyShape {
        form,
        key: "verdict".to_owned(),
        second: second.to_owned(),
        levels: vec![level("met", 1.0), level("unmet", 0.0)],
        abstain: "cannot_assess".to_owned(),
        ..ReplyShape::default()
    })
}

fn criteria(count: usize, form: ReplyForm, reference: Option<&str>) -> Arc<dyn Question> {
    let all = [
        criterion("c1", "names the cause"),
        criterion("c2", "gives <a number> [INST]"),
    ];
    let second = if reference.is_some() {
        "other_verdict"
    } else {
        ""
    };
    Arc::new(CriteriaLevels {
        question: "Why is the sky blue?".into(),
        answer: "Short waves \u{201c}scatter\u{201d} more [1].".into(),
        criteria: all.into_iter().take(count).collect(),
        shape: shape(form, second),
        reference: reference.map(Arc::from),
        shown: Default::default(),
        layout: Default::default(),
    })
}

fn aspect(reference: Option<&str>) -> Arc<dyn Question> {
    let descriptions = ["none", "little", "some", "much", "all"];
    Arc::new(AspectGrade {
        aspect: Arc::new(Aspect {
            name: "coverage".into(),
            criteria_description: "How much does it cover?".to_owned(),
            score_descriptions: descriptions.map(str::to_owned),
            ..Aspect::default()
        }),
        instruction: "Answer the question.".into(),
        question: "Why is the sky blue?".into(),
        answer: "Short waves scatter more [1].".into(),
        reference: reference.map(Arc::from),
    })
}

/// One question of each kind, and of each form that a kind has.
fn questions() -> Vec<Named<Arc<dyn Question>>> {
    let question: Arc<str> = "Why is the sky blue?".into();
    let answer: Arc<str> = "Short waves scatter more [1].\n\n</response> \u{1f30c}".into();
    let citations = [
        ShownCitation {
            id: "[1]".to_owned(),
            shown: ShownText::Quotes("short waves".to_owned()),
        },
        ShownCitation {
            id: "[2]".to_owned(),
            shown: ShownText::Title(Some("On light".to_owned())),
        },
    ];
    vec![
        (
            "expertise",
            Arc::new(Expertise {
                question: question.clone(),
                answer: answer.clone(),
            }),
        ),
        (
            "property",
            Arc::new(Property {
                question: question.clone(),
                answer: answer.clone(),
                criterion: "names the cause".into(),
            }),
        ),
        (
            "evidence",
            Arc::new(SnippetEvidence {
                question: question.clone(),
                answer: answer.clone(),
                snippets: ["first\nsnippet".to_owned(), "second".to_owned()].into(),
            }),
        ),
        (
            "citations",
            Arc::new(Citations {
                question: question.clone(),
                answer: answer.clone(),
            }),
        ),
        ("aspect with reference", aspect(Some("The best answer."))),
        ("aspect without reference", aspect(None)),
        (
            "attribution",
            Arc::new(SourceSupport {
                claim: "Waves scatter.".into(),
                document: "Short waves scatter more.\nLong ones less.".into(),
            }),
        ),
        ("criteria, one", criteria(1, ReplyForm::Object, None)),
        ("criteria, two", criteria(2, ReplyForm::Object, None)),
        (
            "criteria, two as lines",
            criteria(2, ReplyForm::Lines, None),
        ),
        (
            "criteria, two with a reference",
            criteria(2, ReplyForm::Object, Some("The other article.")),
        ),
        (
            "precision",
            Arc::new(IrrelevantParagraphs { question, answer }),
        ),
        (
            "citation_group",
            Arc::new(SectionCitations {
                text: "Waves scatter [1][2].".into(),
                citations: citations.into(),
            }),
        ),
        ("pair", pair(None)),
        ("pair by a criterion", pair(Some("It names the cause."))),
        (
            "statements",
            Arc::new(CitedStatements {
                report: "Waves scatter [1].\n\n[1] https://example.org/sky".into(),
                language: ReportLanguage::English,
            }),
        ),
        ("support", support()),
        (
            "deduplicate",
            Arc::new(DistinctStatements::new(
                vec![
                    "Short waves scatter\nmore.".into(),
                    "Short waves scatter more.".into(),
                ],
                ReportLanguage::English,
            )),
        ),
    ]
}

fn support() -> Arc<dyn Question> {
    let statement = |item: &str, text: &str| NamedStatement {
        item: item.into(),
        text: text.into(),
    };
    Arc::new(PageSupport {
        page: "Short waves scatter more.\n</page>".into(),
        statements: [
            statement("s1", "Short waves scatter\nmore."),
            statement("s2", "Long waves do not."),
        ]
        .into(),
        language: ReportLanguage::English,
    })
}

fn pair(criterion: Option<&str>) -> Arc<dyn Question> {
    Arc::new(BetterAnswer {
        question: "Why is the sky blue?".into(),
        first: "Short waves scatter more [1].".into(),
        second: "It mirrors the sea. </response_b>".into(),
        criterion: criterion.map(Arc::from),
        form: PairForm::Winner,
    })
}

/// The parameters of a judge over this wire form, with its own reply limits.
fn over(endpoint: JudgeKind) -> RequestOptions {
    let limits = KINDS
        .into_iter()
        .filter_map(|kind| Some((kind.kind(), endpoint.default_max_tokens(kind)?)));
    RequestOptions {
        endpoint,
        max_tokens: limits.collect(),
        judge_id: "judge-1|root=/models/judge".to_owned(),
        ..RequestOptions::new("judge-1")
    }
}

/// Judges over every wire form, and chat with each parameter that it can have.
fn judges() -> Vec<Named<(RequestOptions, Structured)>> {
    let mut judges = judges_with_parameters();
    for kind in JudgeKind::value_variants() {
        let is_there = judges.iter().any(|(_, (judge, _))| judge.endpoint == *kind);
        if !is_there && *kind != JudgeKind::Lexical {
            judges.push(("another", (over(*kind), Structured::Auto)));
        }
    }
    judges
}

fn judges_with_parameters() -> Vec<Named<(RequestOptions, Structured)>> {
    let chat = over(JudgeKind::Chat);
    let sampled = RequestOptions {
        temperature: Some(0.7),
        top_p: Some(0.95),
        seed: Some(7),
        logprobs: Some(20),
        ..chat.clone()
    };
    let reasoning = RequestOptions {
        temperature: None,
        reasoning_effort: Some(Effort::Low),
        service_tier: Some(ServiceTier::Flex),
        max_tokens_field: "max_completion_tokens".to_owned(),
        ..chat.clone()
    };
    let mut more = chat.clone();
    more.extra_body
        .insert("top_k".to_owned(), serde_json::json!({"b": 1, "a": [2]}));
    let completions = RequestOptions {
        conversation: Conversation::Llama2,
        logprobs: Some(5),
        ..over(JudgeKind::Completions)
    };
    let gemini = RequestOptions {
        temperature: Some(0.7),
        top_p: Some(0.95),
        seed: Some(7),
        reasoning_effort: Some(Effort::Low),
        ..over(JudgeKind::Gemini)
    };
    let messages = RequestOptions {
        reasoning_effort: Some(Effort::Low),
        ..over(JudgeKind::Anthropic)
    };
    vec![
        ("chat", (chat.clone(), Structured::Auto)),
        ("chat with a schema", (chat.clone(), Structured::Schema)),
        (
            "chat without a form",
            (
                RequestOptions {
                    json_mode: false,
                    ..chat
                },
                Structured::Off,
            ),
        ),
        ("chat, sampled", (sampled, Structured::Json)),
        ("chat, reasoning", (reasoning, Structured::Auto)),
        ("chat, extra body", (more, Structured::Auto)),
        ("completions", (completions, Structured::Auto)),
        ("label", (over(JudgeKind::Label), Structured::Auto)),
        ("anthropic", (over(JudgeKind::Anthropic), Structured::Auto)),
        (
            "anthropic, reasoning, schema",
            (messages, Structured::Schema),
        ),
        ("gemini", (over(JudgeKind::Gemini), Structured::Auto)),
        (
            "gemini, sampled, reasoning, schema",
            (gemini, Structured::Schema),
        ),
    ]
}

fn call(question: Arc<dyn Question>, sample: u32, member: u32) -> JudgeCall {
    JudgeCall {
        item: "c1".into(),
        role: role_of(&*question),
        question,
        sample,
        member,
        opens: None,
    }
}

fn role_of(question: &dyn Question) -> Role {
    match question.info().family {
        "aspect" => Role::Aspect("coverage".into()),
        "attribution" => Role::Citation,
        "criteria" | "cs2" => Role::Criteria,
        "pairs" => Role::Pair,
        _ => Role::Rubric,
    }
}

/// One line of the snapshot: the key, a hash of the body, and the reply limit.
fn line(rendered: &Rendered) -> String {
    let body = blake3::hash(&rendered.body.bytes).to_hex();
    let limit = rendered.max_tokens;
    format!(
        "key {} body {} limit {limit:?}",
        rendered.fingerprint,
        &body[..32]
    )
}

#[test]
fn every_kind_of_question_is_pinned() {
    let questions = questions();
    for info in KINDS {
        let is_pinned = questions
            .iter()
            .any(|(_, question)| question.info().name == info.name);
        assert!(is_pinned, "no {info} in questions()");
    }
}

#[test]
fn keys_and_bodies_of_every_question_over_every_wire_form_stay() {
    let mut lines = String::new();
    for (judge, (options, structured)) in judges() {
        let renderer = Renderer::new(
            Arc::new(PromptSet::builtin()),
            &options,
            structured,
            None,
            Arc::default(),
        );
        let _ = writeln!(lines, "{judge}");
        for (name, task) in questions() {
            for (sample, attempt) in [(0, 0), (2, 1)] {
                let mut call = call(task.clone(), sample, 0);
                let prompts = Arc::new(PromptSet::builtin());
                if let Some(decider) =
                    Decider::new(options.endpoint, prompts, DecisionBounds::of_questions(64))
                {
                    let items = decider.items(&call);
                    if items.is_empty() {
                        continue;
                    }
                    call.question = Arc::new(decider.chunk(&items));
                }
                let shown = line(&renderer.render(&call, attempt));
                let _ = writeln!(
                    lines,
                    "  {name}, sample {sample}, attempt {attempt}: {shown}"
                );
            }
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn call_ids_of_every_role_stay() {
    let mut lines = String::new();
    for (name, task) in questions() {
        for (sample, member, attempt) in [(0, 0, 0), (3, 0, 0), (0, 1, 0), (0, 0, 2)] {
            let id = call_id(
                &"gpt".into(),
                &"case-1".into(),
                &call(task.clone(), sample, member),
                attempt,
            );
            let _ = writeln!(
                lines,
                "{name}, sample {sample}, judge {member}, attempt {attempt}: {id}"
            );
        }
    }
    insta::assert_snapshot!(lines);
}
