//! Finds the shape of questions that a server of decision models reads. The path does not show it: `/decisions` has both.

use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::chat::transport::Transport;
use crate::endpoint::Endpoint;
use crate::kind::JudgeKind;
use scholareval_core::domain::Verdict;
use scholareval_core::question::{DecisionForm, DecisionOption, DecisionQuestion, DecisionShape};

/// The routes that are tried, each with the kind of judge whose questions it is asked.
const TRIED: [(JudgeKind, &str); 3] = [
    (JudgeKind::SystemOne, "/systemone"),
    (JudgeKind::Decisions, "/decisions"),
    (JudgeKind::SystemOne, "/decisions"),
];

/// The kinds of judge as which a server answers, each with the route: by one short question to each.
pub async fn spoken_kinds(endpoint: &Endpoint, model: &str) -> Vec<(JudgeKind, &'static str)> {
    let mut spoken = Vec::new();
    let Ok(transport) = Transport::new(Arc::new(endpoint.clone())) else {
        return spoken;
    };
    for (kind, route) in TRIED {
        if answers_as(&transport, kind, route, model).await.is_some() {
            spoken.push((kind, route));
        }
    }
    spoken
}

/// Whether the reply has answers in the shape of the questions.
async fn answers_as(
    transport: &Transport,
    kind: JudgeKind,
    route: &str,
    model: &str,
) -> Option<()> {
    let shape = kind.protocol().decision_shape()?;
    let text = match shape {
        DecisionShape::Named => "state",
        DecisionShape::Listed => "input",
    };
    let questions = shape.written(&[short_question()], false);
    let body = json!({"model": model, text: "The sky is blue.", "questions": questions});
    let endpoint = &transport.endpoint;
    let url = format!("{}{route}", endpoint.base_url);
    let request = transport.http.post(url).query(&endpoint.query);
    let request = request.header(CONTENT_TYPE, "application/json");
    let request = request.body(body.to_string()).build().ok()?;
    let reply = transport.response(request).await.ok()?.bytes().await.ok()?;
    let reply: Value = serde_json::from_slice(&reply).ok()?;
    let readings = shape.read(&[short_question()], &reply["answers"]).ok()?;
    readings.first()?.is_ok().then_some(())
}

fn short_question() -> DecisionQuestion {
    let option = |label: &str, count: f64| DecisionOption::new(label, Verdict::Count(count));
    DecisionQuestion {
        instructions: "The text names a color.".to_owned(),
        form: DecisionForm::Predicate,
        options: vec![option("no", 0.0), option("yes", 1.0)],
        is_fault: false,
    }
}
