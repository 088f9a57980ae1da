//! Tests of the whole page, with synthetic values.

use std::sync::Arc;

use super::safety::content_security_policy;
use super::*;
use crate::analysis::comparison::{
    ComparedCase, ComparedRun, ComparisonOptions, JudgedRole, MetricId, MetricTable, Observation,
    ObservedSystem, compare,
};
use crate::analysis::{criteria, criteria_grid};
use crate::domain::{
    Answer, CaseId, Component, ComponentKind, Item, Mode, Score, ScoredAnswer, SystemName,
    TestCase, Unit, UnscoredKind, UnscoredReason,
};
use crate::record::Manifest;
use crate::report::html;
use crate::stats::Interval;

const HOSTILE: &str =
    "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> \" ' & \u{2028}\u{202e}x";

fn systems(names: &[&str]) -> Vec<ObservedSystem> {
    let system = |name: &&str| ObservedSystem {
        label: (*name).to_owned(),
        system: SystemName::from(*name),
        run: 0,
    };
    names.iter().map(system).collect()
}

/// Two systems, `cases` cases, `a` better by 0.1 in each; the last answer of `b` is unscored.
fn observed(names: [&str; 2], cases: usize) -> Observations {
    let case = |at: usize| ComparedCase {
        case_id: CaseId::from(format!("c{at}")),
        question: Arc::from(format!("q{at}?")),
    };
    let value = |at: usize| 0.3 + 0.5 * (at as f64 / cases as f64);
    let mut second: Vec<Observation> = (0..cases).map(|at| Observation::Value(value(at))).collect();
    second[cases - 1] = Observation::Unscored(Interval {
        low: 0.1,
        high: 0.9,
    });
    let table = MetricTable {
        votes: false,
        metric: MetricId {
            scorer: "rubric".into(),
            name: "score".into(),
            unit: Unit::Share,
            higher_is_better: true,
        },
        values: vec![
            (0..cases)
                .map(|at| Observation::Value(value(at) + 0.1))
                .collect(),
            second,
        ],
        net_ranges: Vec::new(),
        drawn: Vec::new(),
        samples: None,
        games: Vec::new(),
        sets: Vec::new(),
    };
    let cases = (0..cases).map(case).collect();
    Observations {
        systems: systems(&names),
        cases,
        metrics: vec![table],
        ..Observations::default()
    }
}

fn scored(system: &str, case: &str, value: Option<f64>, text: &str) -> Arc<ScoredAnswer> {
    let component = Component {
        value,
        reason: value
            .is_none()
            .then(|| UnscoredReason::new(UnscoredKind::Unreadable, text).into()),
        feedback: Some(text.to_owned().into()),
        ..Component::new("p0", ComponentKind::Property)
            .with_text(text)
            .with_weight(1.0)
    };
    Arc::new(ScoredAnswer {
        system: SystemName::from(system),
        systems: None,
        case: Arc::new(TestCase::without_rubric(CaseId::from(case), text)),
        score: Score {
            scorer: "rubric".into(),
            value,
            components: vec![component],
            ..Score::default()
        },
        members: Default::default(),
        injection: vec![text.to_owned()],
    })
}

fn page(names: [&str; 2], cases: usize, scored: &[Arc<ScoredAnswer>], text: &str) -> String {
    let observations = observed(names, cases);
    let mut comparison = compare(
        &observations,
        &ComparisonOptions {
            resamples: 200,
            ..ComparisonOptions::seeded(1)
        },
    );
    comparison.runs = vec![ComparedRun {
        name: text.to_owned(),
        ..ComparedRun::default()
    }];
    comparison.differences = vec![text.to_owned()];
    let item = |scored_answer: &Arc<ScoredAnswer>| {
        let answer = Answer::new(
            scored_answer.system.clone(),
            scored_answer.case.case_id.clone(),
            text,
        );
        Item::new(Arc::clone(&scored_answer.case), answer)
    };
    let items: Vec<Item> = scored.iter().map(item).collect();
    comparison.judged_by = vec![JudgedRole {
        role: text.to_owned(),
        judge: text.to_owned(),
        check: None,
        differs_from_published: Some(text.to_owned()),
        runs: Vec::new(),
    }];
    let manifest = Manifest {
        scorers: vec![text.to_owned()],
        ..Manifest::begin(Mode::Default)
    };
    let run = RecordedRun {
        path: "r".into(),
        name: text.to_owned(),
        manifest,
        items,
        scored: scored.to_vec(),
    };
    let grid = criteria_grid(&[scored], &comparison.systems);
    let report = HtmlReport {
        labels: None,
        grid: &grid,
        comparison: &comparison,
        observations: &observations,
        criteria: &criteria(&[scored], &[]),
        runs: &[run],
        calls: Vec::new(),
        prompts: Vec::new(),
        call_count: 1234,
        left_out: vec![text.to_owned()],
        with_answers: true,
    };
    String::from_utf8(html::page(&report).unwrap()).unwrap()
}

/// The JSON of the block with that id.
fn block(page: &str, id: &str) -> serde_json::Value {
    let (_, rest) = page
        .split_once(&format!("<script type=\"application/json\" id=\"{id}\">"))
        .unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn foreign_text_never_becomes_markup() {
    let answers = [
        scored("a", "c0", Some(0.5), HOSTILE),
        scored(HOSTILE, "c0", None, HOSTILE),
    ];
    let page = page(["a", HOSTILE], 3, &answers, HOSTILE);
    for part in ["<script>alert", "<img", "\u{2028}"] {
        assert!(!page.contains(part), "{part:?} is in the page");
    }
    // Tables show bidirectional controls escaped; the data have exact texts.
    let (markup, _) = page
        .split_once("<script type=\"application/json\"")
        .unwrap();
    assert!(!markup.contains('\u{202e}') && markup.contains("\\u{202e}"));
    // core and three cases as data, and the only script.
    assert_eq!(page.matches("<script").count(), 5);
    assert_eq!(page.matches("</script>").count(), 5);
    let case = block(&page, "case-0");
    assert_eq!(
        case["systems"][0]["answer"]["text"], HOSTILE,
        "the text is kept exactly"
    );
}

#[test]
fn the_policy_names_the_hash_of_the_script_and_allows_nothing_else() {
    let page = page(["a", "b"], 3, &[scored("a", "c0", Some(0.5), "t")], "t");
    let between = |open: &str, close: &str| {
        let from = page.rfind(open).unwrap() + open.len();
        &page[from..from + page[from..].find(close).unwrap()]
    };
    let policy = content_security_policy(
        between("<script>", "</script>"),
        between("<style>", "</style>"),
    );
    assert!(page.contains(&format!("content=\"{policy}\"")), "{policy}");
    assert!(!page.contains(" style=") && !page.contains("innerHTML"));
    // The page loads nothing.
    assert!(!page.contains("src=") && !page.contains("http://") && !page.contains("https://"));
}

#[test]
fn tables_are_markup_and_data_are_in_blocks() {
    let page = page(
        ["a", "b"],
        4,
        &[
            scored("a", "c0", Some(0.5), "t"),
            scored("b", "c1", None, "no JSON object"),
        ],
        "t",
    );
    let markup = page
        .split_once("<script type=\"application/json\"")
        .unwrap()
        .0;
    // Over the three shared cases: b is (0.3 + 0.425 + 0.55) / 3 = 42.5, a is 10 points higher.
    assert!(
        markup.contains(">52.5 <small>[") && markup.contains(">42.5 <small>["),
        "{markup}"
    );
    // The scorecard stands above, with the best in bold and the letters of groups, and as LaTeX and CSV.
    assert!(
        markup.contains("<td class=\"n best\" data-heading=")
            && markup.contains(">52.5<sup>a</sup> <small>[")
            && markup.contains("1,234 calls")
    );
    assert!(
        markup.contains("<p class=\"call-out left-out\">t</p>"),
        "{markup}"
    );
    assert!(
        markup.contains("\\begin{tabular}{lr}")
            && markup.contains("system,score,score_low,score_high,score_flag")
    );
    assert!(markup.contains(">+10.0"), "{markup}");
    let core = block(&page, "core");
    assert_eq!(core["cases"][1], serde_json::json!(["c1", "q1?"]));
    assert_eq!(
        core["metrics"][0]["values"][1][3],
        serde_json::json!([0.1, 0.9])
    );
    assert_eq!(core["metrics"][0]["values"][0][0], serde_json::json!(0.4));
    assert_eq!(
        block(&page, "case-1")["systems"][0],
        serde_json::Value::Null
    );
}

#[test]
fn the_verdict_of_compare_stands_first_with_its_numbers() {
    let page = page(["a", "b"], 9, &[], "t");
    let markup = page.split_once("class=\"scorecard\"").unwrap().0;
    // Eight shared cases, all of them 10 points apart.
    let verdict =
        "<small>score:</small> a scores higher than b <small>(+10.0, p = 0.008)</small>.</p>";
    assert!(markup.contains(verdict), "{markup}");
    assert!(markup.contains("1 of 18 answers unscored"), "{markup}");
    assert!(markup.contains("rests on 8 of 9 cases"), "{markup}");
}

#[test]
fn criteria_are_lines_with_their_texts_and_the_means_of_systems() {
    let answers = [
        scored("a", "c0", Some(0.84), "Names the routes"),
        scored("b", "c0", Some(0.4), "Names the routes"),
        scored("b", "c1", Some(0.2), "Names <the> rest"),
    ];
    let page = page(["a", "b"], 3, &answers, "t");
    let heatmap = page
        .split_once("id=\"criteria\"")
        .unwrap()
        .1
        .split_once("</table>")
        .unwrap()
        .0;
    let line = "data-case=\"0\" data-part=\"rubric&#x2f;p0\"><th scope=\"row\"><a>Names the routes</a></th>\
                <td class=\"known v8\" data-system=\"0\">84</td><td class=\"known v4\" data-system=\"1\">40</td>";
    assert!(heatmap.contains(line), "{heatmap}");
    assert!(heatmap.contains("Names &lt;the&gt; rest</a></th><td class=\"missing\">–</td>"));
    // The group: 84, and the mean of 40 and 20.
    assert!(heatmap.contains("2 criteria</small></th><td class=\"known v8\" data-system=\"0\">84</td><td class=\"known v3\" data-system=\"1\">30</td>"));
    let values = &block(&page, "core")["criteria"][0];
    assert_eq!(values["name"], "P");
    assert_eq!(
        values["values"],
        serde_json::json!([[0.84, null, null], [0.4, 0.2, null]])
    );
}

#[test]
fn a_pair_has_the_flags_of_compare_and_the_title_explains_them() {
    // Eight differences of 10 points: significant, with p 2 / 2^8; the ninth is open, between +74 and -6 points.
    let page = page(["a", "b"], 9, &[], "t");
    let markup = page
        .split_once("<script type=\"application/json\"")
        .unwrap()
        .0;
    assert!(
        markup.contains(">+10.0<sup>*</sup>") && markup.contains(">0.008<"),
        "{markup}"
    );
    assert!(markup.contains("simultaneous 95% intervals; * significant"));
}

#[test]
fn a_hundred_cases_without_answers_take_little() {
    let page = page(["a", "b"], 100, &[], "t");
    // Style, script and markup take about 100 KB, a case less than 300 bytes.
    assert!(page.len() < 150_000, "{} bytes", page.len());
}

#[test]
fn a_score_of_aspects_is_a_grade_and_every_other_one_a_share() {
    let with_kinds = |scorer: &'static str, kinds: &[ComponentKind]| {
        let mut answer = (*scored("a", "c0", Some(0.5), "t")).clone();
        let part = answer.score.components[0].clone();
        answer.score.components = vec![part; kinds.len()];
        answer
            .score
            .components
            .iter_mut()
            .zip(kinds)
            .for_each(|(component, kind)| component.kind = *kind);
        answer.score.scorer = scorer.into();
        Arc::new(answer)
    };
    let answers = [
        with_kinds("rubric", &[ComponentKind::Property]),
        with_kinds(
            "prometheus",
            &[ComponentKind::Aspect, ComponentKind::Aspect],
        ),
        with_kinds("entailment", &[ComponentKind::Share, ComponentKind::Count]),
        with_kinds(
            "citation_audit",
            &[ComponentKind::Count, ComponentKind::Share],
        ),
    ];
    let case = block(&page(["a", "b"], 3, &answers, "t"), "case-0");
    let scores = case["systems"][0]["scores"].as_array().unwrap();
    let units: Vec<&str> = scores
        .iter()
        .map(|score| score["unit"].as_str().unwrap())
        .collect();
    assert_eq!(units, ["share", "grade", "share", "share"]);
}

#[test]
fn a_missing_case_has_a_place_for_its_message() {
    let page = page(["a", "b"], 3, &[], "t");
    assert!(
        page.contains("id=\"no-case\" role=\"status\" hidden")
            && page.contains("There is no such case in this page")
    );
}
