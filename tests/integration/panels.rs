//! Panels and repeated samples from the judges' replies to the scorecard.

use std::sync::Arc;

use scholareval::analysis::{AggregateOptions, Scale, Summary, summarize};
use scholareval::domain::{
    Answer, Aspect, CaseId, Criterion, GradeMerge, Item, JudgeReply, Mode, Prediction, Role,
    Rubric, RubricParts, Source, TestCase,
};
use scholareval::error::Result;
use scholareval::evaluation::{self, Job, Member, Options, Panel, Panels, StopHandle};
use scholareval::judge::{AskFuture, Judge, JudgeRequest, Outcome};
use scholareval::question::KindInfo;
use scholareval::record::{EventSink, RunEvent};
use scholareval::scorer::Scorer;
use scholareval::scorer::citation::IndexBase;
use scholareval::scorer::entailment::EntailmentScorer;
use scholareval::scorer::prometheus::PrometheusScorer;
use scholareval::scorer::rubric::RubricScorer;

/// What a judge says of case c0, c1, .. in a sample.
struct Opinion(fn(kind: &KindInfo, case: u32, sample: u32) -> String);

impl Judge for Opinion {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let case = request
            .case_id
            .as_str()
            .trim_start_matches('c')
            .parse()
            .unwrap();
        let text = (self.0)(request.call.question.info(), case, request.call.sample);
        Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply::of_text(
            text,
        )))))
    }
}

/// Points 8, two snippets, grades 4 5 5, everything attributable.
fn kind(kind: &KindInfo, case: u32, _sample: u32) -> String {
    match kind.name {
        "expertise" | "property" => r#"{"score": 8}"#.to_owned(),
        "evidence" => r#"{"score": 2}"#.to_owned(),
        "citations" => r#"{"claims": [{"citations": [{"excerpts": []}]}]}"#.to_owned(),
        "aspect" => format!("good [RESULT] {}", 4 + case.min(1)),
        "attribution" => "Attributable".to_owned(),
        _ => {
            panic!("not asked here")
        }
    }
}

/// Points 4 5 6 in the first sample and 2 more in the second, one snippet, grades 2 3 4, support in the first case only.
fn strict(kind: &KindInfo, case: u32, sample: u32) -> String {
    match kind.name {
        "expertise" | "property" => {
            format!(r#"{{"score": {}}}"#, 4 + case + 2 * sample)
        }
        "evidence" => r#"{"score": 1}"#.to_owned(),
        "citations" => {
            r#"{"claims": [{"citations": []}, {"citations": [{"excerpts": []}]}]}"#.to_owned()
        }
        "aspect" => format!("poor [RESULT] {}", 2 + case),
        "attribution" => if case == 0 {
            "Attributable"
        } else {
            "Extrapolatory"
        }
        .to_owned(),
        _ => {
            panic!("not asked here")
        }
    }
}

struct Nobody;

impl EventSink for Nobody {
    fn on_event(&mut self, _event: &RunEvent) -> Result<()> {
        Ok(())
    }
}

fn item(number: u32) -> Item {
    let text = "The effect was found in mice and in rats of both sexes alike [0].";
    let case_id = CaseId::from(format!("c{number}"));
    let criterion = Criterion {
        name: "p".to_owned(),
        criterion: "names the animals".into(),
        weight: 0.6,
        snippets: vec!["mice".to_owned(), "rats".to_owned()].into(),
    };
    let rubric = Rubric {
        low_length: 300,
        high_length: 600,
        expertise_weight: 0.2,
        citations_weight: 0.2,
        criteria: vec![criterion],
        ..Rubric::none("where?".into())
    };
    let case = TestCase {
        criteria: Vec::new(),
        reference: None,
        shown: Default::default(),
        group: None,
        case_id: case_id.clone(),
        initial_prompt: "where?".to_owned(),
        annotator: String::new(),
        agreement: false,
        rubric,
    };
    let source = Source {
        text: Some("Mice and rats.".to_owned()),
        ..Source::default()
    };
    let prediction = Prediction {
        output: Some(text.into()),
        sources: vec![source],
        ..Prediction::default()
    };
    let answer = Answer {
        prediction: Some(Arc::new(prediction)),
        ..Answer::new("s".into(), case_id, text)
    };
    Item::new(Arc::new(case), answer)
}

/// Three answers through rubric, one aspect and entailment, judged by these.
async fn judged(members: Vec<Member>) -> Summary {
    let aspect = Arc::new(Aspect {
        name: "coverage".into(),
        ..Aspect::default()
    });
    let prometheus = PrometheusScorer {
        aspects: vec![aspect],
        instruction: "".into(),
        top_n: 10,
        index_base: IndexBase::Zero,
        mode: Mode::Default,
        use_reference: false,
    };
    let parts = RubricParts {
        rubrics: true,
        snippets: true,
    };
    let scorers: [Arc<dyn Scorer>; 3] = [
        Arc::new(EntailmentScorer::default()),
        Arc::new(prometheus),
        Arc::new(RubricScorer::new(parts, Mode::Default)),
    ];
    let panel = Panel {
        members,
        merge: GradeMerge::Mean,
    };
    let roles = [
        Role::Rubric,
        Role::Aspect("coverage".into()),
        Role::Citation,
    ];
    let panels = Arc::new(
        roles
            .into_iter()
            .map(|role| (role, panel.clone()))
            .collect::<Panels>(),
    );
    let options = Options {
        concurrency: 2,
        parse_retries: 0,
        retry_unscored: false,
        mode: Mode::Default,
        reasoning_tags: Vec::new(),
        selected_items: std::sync::Arc::default(),
        at_once: false,
    };
    let jobs = scorers.map(|scorer| Job {
        items: (0..3).map(item).collect(),
        scorer,
        panels: Arc::clone(&panels),
        options: Arc::new(options.clone()),
    });
    let all = vec![vec![0, 1, 2]; 3];
    let outcome = evaluation::run(&jobs, &all, &mut Nobody, &StopHandle::new())
        .await
        .unwrap();
    let mut scored = outcome.scored;
    assert_eq!(scored.len(), 9);
    // Answers come as they are finished; scorers stand in the order of their first answer.
    scored.sort_by_key(|answer| {
        (
            answer.score.scorer != "rubric",
            answer.score.scorer == "entailment",
        )
    });
    summarize(&scored, &[], AggregateOptions::default())
}

#[tokio::test]
async fn what_two_judges_reply_becomes_agreement_and_noise_of_every_group() {
    let kind = Member::new(Arc::new(Opinion(kind)), "kind");
    let strict = Member {
        samples: 2,
        ..Member::new(Arc::new(Opinion(strict)), "strict")
    };
    let card = judged(vec![kind, strict]).await;
    let told: Vec<_> = card
        .panels
        .iter()
        .map(|panel| {
            (
                panel.scorer.as_str(),
                panel.group.name.as_str(),
                panel.group.scale,
                panel.judged_by_all,
                panel.cases,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            // expertise and p
            ("rubric", "points", Scale::Points, 6, 3),
            ("rubric", "evidence", Scale::Count, 3, 3),
            ("rubric", "claims", Scale::Share, 3, 3),
            ("prometheus", "coverage", Scale::Grade, 3, 3),
            ("entailment", "labels", Scale::Label, 3, 3),
        ]
    );
    // kind, strict: points 8 and (5 + 6 + 7) / 3; snippets 2 and 1; 1 of 1 and 1 of 2 claims cited;
    // grades (4 + 5 + 5) / 3 and (2 + 3 + 4) / 3; support in 3 and 1 of 3.
    let expected = [
        (8.0, 6.0),
        (2.0, 1.0),
        (1.0, 0.5),
        (14.0 / 3.0, 3.0),
        (1.0, 1.0 / 3.0),
    ];
    for (panel, (kind, strict)) in card.panels.iter().zip(expected) {
        let means: Vec<f64> = panel
            .judges
            .iter()
            .map(|judge| judge.mean.unwrap())
            .collect();
        assert!(
            (means[0] - kind).abs() < 1e-12 && (means[1] - strict).abs() < 1e-12,
            "{panel:?}"
        );
    }
    // Labels 1 1 1 and 1 0 0: both agree on support in 1/3, by chance in 1 * 1/3 + 0 * 2/3 = 1/3: kappa 0.
    assert!(card.panels[4].kappa.estimate.unwrap().abs() < 1e-12);
    // The samples of strict differ by 2 in points, sd = the square root of 2, and nowhere else; kind was asked once.
    let noise: Vec<_> = card
        .noise
        .iter()
        .map(|noise| (&*noise.judge, noise.samples, noise.units, noise.all_equal))
        .collect();
    let same = ("strict", 2, 3, Some(1.0));
    assert_eq!(noise, [("strict", 2, 6, Some(0.0)), same, same, same, same]);
    assert!((card.noise[0].mean_sd.unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
    assert!(
        card.noise[1..]
            .iter()
            .all(|noise| noise.mean_sd == Some(0.0))
    );
}

#[tokio::test]
async fn one_judge_asked_once_has_neither() {
    let card = judged(vec![Member::new(Arc::new(Opinion(kind)), "kind")]).await;
    assert!(card.panels.is_empty() && card.noise.is_empty());
}
