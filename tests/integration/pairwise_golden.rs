//! Pairwise statistics against those of NumPy and statsmodels.
//!
//! Win rates and position effects agree to 1e-9, strengths and their errors to 1e-6, critical values to one in the fourth digit,
//! the last that the file has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use scholareval::domain::{
    Answer, Component, ComponentKind, GradeMerge, Item, JudgeReply, Mode, Role, Score, TestCase,
    TokenLogprob,
};
use scholareval::evaluation::{Job, Member, Options, Panel, Panels, StopHandle, run};
use scholareval::judge::{AskFuture, Judge, JudgeRequest, Outcome};
use scholareval::question::{BetterAnswer, Expertise, JudgeCall, PairForm, Question};
use scholareval::record::NoEvents;
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use scholareval::stats::{
    NoStrengths, PairVerdict, Strengths, Ties, WinRate, critical_values, cyclic_triads,
    first_shown, least_squares,
};
use serde_json::Value;

/// The golden file; `None` where it is not at hand.
fn golden() -> Option<Value> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let path = dir.join("golden/pairwise.json");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

/// Numbers of the names in a case, in order of their names.
#[derive(Default)]
struct Numbers {
    names: BTreeMap<String, usize>,
}

impl Numbers {
    fn of(names: impl Iterator<Item = String>) -> Self {
        let mut sorted: Vec<String> = names.collect();
        sorted.sort();
        sorted.dedup();
        Self {
            names: sorted.into_iter().zip(0..).collect(),
        }
    }

    fn number(&self, name: &Value) -> usize {
        self.names[name.as_str().unwrap()]
    }
}

/// The rows `[question, first, second, value]` of a case, with the numbers of its systems.
fn verdicts(rows: &Value) -> (Vec<PairVerdict>, Numbers) {
    let rows = rows.as_array().unwrap();
    let text = |row: &Value, at: usize| row[at].as_str().unwrap().to_owned();
    let questions = Numbers::of(rows.iter().map(|row| text(row, 0)));
    let firsts = rows.iter().map(|row| text(row, 1));
    let seconds = rows.iter().map(|row| text(row, 2));
    let systems = Numbers::of(firsts.chain(seconds));
    let mut verdicts = Vec::new();
    for row in rows {
        verdicts.push(PairVerdict::new(
            questions.number(&row[0]),
            systems.number(&row[1]),
            systems.number(&row[2]),
            row[3].as_f64().unwrap(),
        ));
    }
    (verdicts, systems)
}

#[track_caller]
fn assert_near(ours: Option<f64>, theirs: &Value, tolerance: f64, what: &str) {
    match (ours, theirs.as_f64()) {
        (Some(ours), Some(theirs)) => assert!(
            (ours - theirs).abs() <= tolerance,
            "{what}: ours {ours}, theirs {theirs}"
        ),
        (ours, theirs) => assert_eq!(ours, theirs, "{what}"),
    }
}

fn check_win_rate(pair: &Value, systems: &Numbers, verdicts: &[PairVerdict], tag: &str) {
    let own = systems.number(&pair["pair"][0]);
    let other = systems.number(&pair["pair"][1]);
    let found = WinRate::of(own, other, verdicts).unwrap();
    for (ours, key) in [
        (Some(found.win_rate), "win_rate"),
        (found.standard_error, "se"),
        (found.when_first, "mean_when_first"),
        (found.when_second, "mean_when_second"),
        (found.position_effect, "position_effect"),
    ] {
        assert_near(ours, &pair[key], 1e-9, &format!("{tag}: {key}"));
    }
    for (ours, key) in [
        (found.questions, "questions"),
        (found.orders.questions, "both_orders"),
        (found.orders.consistent, "consistent"),
        (found.orders.towards_first, "towards_first"),
        (found.orders.towards_second, "towards_second"),
    ] {
        assert_eq!(Some(ours as u64), pair[key].as_u64(), "{tag}: {key}");
    }
}

fn check_strengths(
    theirs: &Value,
    systems: &Numbers,
    verdicts: &[PairVerdict],
    place: bool,
    tag: &str,
) {
    let found = Strengths::of(systems.names.len(), verdicts, Ties::Half, place);
    if theirs["exists"] == false {
        let groups = |key: &str| -> Vec<Vec<usize>> {
            let groups = theirs[key].as_array().unwrap().iter();
            let numbers = |group: &Value| {
                let names = group.as_array().unwrap().iter();
                names.map(|name| systems.number(name)).collect()
            };
            groups.map(numbers).collect()
        };
        let expected = if theirs["groups"].is_array() {
            NoStrengths::Separated(groups("groups"))
        } else {
            NoStrengths::NotCompared(groups("components"))
        };
        assert_eq!(found, Err(expected), "{tag}");
        return;
    }
    let found = found.unwrap_or_else(|reason| panic!("{tag}: {reason:?}"));
    assert_eq!(Some(found.questions() as u64), theirs["questions"].as_u64());
    for (name, at) in &systems.names {
        let what = format!("{tag}: {name}");
        assert_near(
            Some(found.values[*at]),
            &theirs["log_strength"][name],
            1e-6,
            &what,
        );
        let error = found.errors.as_ref().map(|errors| errors[*at]);
        let expected = theirs["se"].get(name).unwrap_or(&Value::Null);
        assert_near(error, expected, 1e-6, &what);
        let rate = found.win_rate_against_the_others(*at);
        assert_near(
            Some(rate),
            &theirs["win_rate_against_the_others"][name],
            1e-6,
            &what,
        );
    }
    if let Some((position, error)) = found.position {
        assert_near(Some(position), &theirs["position"], 1e-6, tag);
        assert_near(error, &theirs["position_se"], 1e-6, tag);
    }
    for difference in theirs["differences"].as_array().into_iter().flatten() {
        let values = found.pseudo_values(
            systems.number(&difference[0]),
            systems.number(&difference[1]),
        );
        let error = scholareval::stats::standard_error(&values, None);
        assert_near(scholareval::stats::mean(&values), &difference[2], 1e-6, tag);
        // Equal values have an error of 0 up to rounding.
        assert_near(error, &difference[3], 1e-6, tag);
    }
}

#[test]
fn win_rates_position_effects_and_strengths_are_those_of_statsmodels() {
    let Some(golden) = golden() else { return };
    let cases = golden["bradley_terry"].as_array().unwrap();
    assert_eq!(cases.len(), 13);
    for case in cases {
        let tag = case["tag"].as_str().unwrap();
        let (verdicts, systems) = verdicts(&case["rows"]);
        let proper = &case["proper"];
        for pair in proper["pairs"].as_array().unwrap() {
            check_win_rate(pair, &systems, &verdicts, tag);
        }
        let (share, error) = first_shown(&verdicts).unwrap();
        assert_near(Some(share), &proper["position"]["first_shown"], 1e-9, tag);
        assert_near(error, &proper["position"]["se"], 1e-9, tag);
        check_strengths(&proper["strengths"], &systems, &verdicts, false, tag);
        check_strengths(&proper["with_position"], &systems, &verdicts, true, tag);
    }
}

#[test]
fn strengths_with_ties_of_their_own_are_davidsons() {
    let Some(golden) = golden() else { return };
    for case in golden["davidson"].as_array().unwrap() {
        let tag = case["tag"].as_str().unwrap();
        let (verdicts, systems) = verdicts(&case["rows"]);
        let found = Strengths::of(systems.names.len(), &verdicts, Ties::Davidson, false).unwrap();
        assert_near(found.nu, &case["proper"]["nu"], 1e-6, tag);
        for (name, at) in &systems.names {
            let theirs = &case["proper"]["log_strength"][name];
            assert_near(Some(found.values[*at]), theirs, 1e-6, tag);
        }
    }
}

#[test]
fn verdicts_at_equal_length_are_the_intercept_of_a_line() {
    let Some(golden) = golden() else { return };
    for case in golden["length"].as_array().unwrap() {
        let tag = case["tag"].as_str().unwrap();
        let mut lengths = Vec::new();
        let mut values = Vec::new();
        for row in case["rows"].as_array().unwrap() {
            let own = row[1].as_f64().unwrap();
            let other = row[2].as_f64().unwrap();
            lengths.push((own - other) / (own + other));
            values.push(row[3].as_f64().unwrap());
        }
        let line = least_squares(&lengths, &values, 0.95).unwrap();
        let proper = &case["proper"];
        assert_near(Some(line.intercept), &proper["at_equal_length"], 1e-9, tag);
        assert_near(
            Some(line.intercept_interval.low),
            &proper["interval"][0],
            1e-9,
            tag,
        );
        assert_near(
            Some(line.intercept_interval.high),
            &proper["interval"][1],
            1e-9,
            tag,
        );
    }
}

#[test]
fn cycles_are_counted_by_question() {
    let Some(golden) = golden() else { return };
    for case in golden["cycles"].as_array().unwrap() {
        let mut decided = 0;
        let mut cyclic = 0;
        for question in case["questions"].as_array().unwrap() {
            let rows = question[1].as_array().unwrap().iter();
            let rows = rows.map(|row| serde_json::json!(["q", row[0], row[1], row[2]]));
            let (verdicts, systems) = verdicts(&rows.collect());
            let found = cyclic_triads(systems.names.len(), &verdicts);
            decided += found.0;
            cyclic += found.1;
        }
        assert_eq!(case["proper"]["decided_triads"], decided);
        assert_eq!(case["proper"]["cyclic"], cyclic);
    }
}

/// Replies to sample k with the k-th of these points; counts the samples.
struct Votes {
    points: Vec<f64>,
    asked: AtomicUsize,
}

impl Judge for Votes {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let points = self.points[request.call.sample as usize];
        let reply = JudgeReply::of_text(format!("{{\"score\": {points}}}"));
        Box::pin(std::future::ready(Ok(Outcome::Reply(reply))))
    }
}

/// Asks one question, whose points are the score.
struct OneQuestion;

impl Scorer for OneQuestion {
    fn name(&self) -> &str {
        "one"
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let Some(verdict) = verdicts.get("it") else {
            let question = Expertise {
                question: "q".into(),
                answer: Arc::clone(&subject.answer.answer_text),
            };
            return Step::Ask(vec![JudgeCall::new("it", Role::Rubric, question)]);
        };
        let value = verdict
            .as_ref()
            .ok()
            .and_then(|reading| reading.verdict.number());
        Step::Done(Score {
            scorer: "one".into(),
            value,
            components: vec![Component {
                value,
                ..Component::new("it", ComponentKind::Share)
            }],
            ..Score::default()
        })
    }
}

#[tokio::test]
async fn samples_of_a_vote_stop_when_none_that_is_left_can_change_it() {
    let Some(golden) = golden() else { return };
    // A verdict may be a word there; any numbers may stand for them.
    let points = |verdict: &Value| match verdict.as_str() {
        Some("A") => 1.0,
        Some("B") => 0.0,
        Some(_) => 5.0,
        None => verdict.as_f64().unwrap(),
    };
    let cases = golden["curtailed"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let votes = Arc::new(Votes {
            points: case["verdicts"]
                .as_array()
                .unwrap()
                .iter()
                .map(points)
                .collect(),
            asked: AtomicUsize::new(0),
        });
        let member = Member {
            samples: u32::try_from(case["samples"].as_u64().unwrap()).unwrap(),
            merge: GradeMerge::MostCommon,
            ..Member::new(Arc::clone(&votes) as Arc<dyn Judge>, "votes")
        };
        let case_of_item = Arc::new(TestCase::without_rubric("c".into(), "q"));
        let item = Item::new(case_of_item, Answer::new("s".into(), "c".into(), "text"));
        let job = Job {
            items: Arc::from([item]),
            scorer: Arc::new(OneQuestion),
            panels: Arc::new(Panels::from([(Role::Rubric, Panel::of_one(member))])),
            options: Arc::new(Options {
                concurrency: 4,
                parse_retries: 0,
                retry_unscored: false,
                mode: Mode::Default,
                reasoning_tags: Vec::new(),
                selected_items: std::sync::Arc::default(),
                at_once: false,
            }),
        };
        let ran = run(&[job], &[vec![0]], &mut NoEvents, &StopHandle::new())
            .await
            .unwrap();
        let proper = &case["proper"];
        assert_eq!(
            votes.asked.load(Ordering::SeqCst) as u64,
            proper["asked"],
            "{case}"
        );
        assert_eq!(
            ran.scored[0].score.value,
            Some(points(&proper["verdict"])),
            "{case}"
        );
    }
}

#[test]
fn critical_values_of_looks_are_the_published_ones() {
    let Some(golden) = golden() else { return };
    let mut checked = 0;
    for case in golden["group_sequential"].as_array().unwrap() {
        if case["spending"] != "obrien_fleming" {
            continue;
        }
        let fractions: Vec<f64> = serde_json::from_value(case["fractions"].clone()).unwrap();
        let found = critical_values(&fractions, case["alpha"].as_f64().unwrap()).unwrap();
        for (ours, theirs) in found.iter().zip(case["proper"].as_array().unwrap()) {
            assert_near(Some(*ours), theirs, 1.1e-4, &format!("{fractions:?}"));
        }
        checked += 1;
    }
    assert_eq!(checked, 6);
}

/// The form of a section of the golden file, and the value of a verdict there for the answer shown first.
fn form_of(name: &str) -> PairForm {
    match name {
        "mt_bench_pair" => PairForm::Letters,
        "mt_bench_rating" => PairForm::Ratings,
        "arena_hard_v2" | "arena_hard_v01" => PairForm::Arrows,
        "alpaca_ranking" | "alpaca_fn" => PairForm::Ranks,
        "alpaca_lmsys" => PairForm::Scores,
        "alpaca_logprob" => PairForm::Tokens,
        other => panic!("no form is called {other}"),
    }
}

/// Alpaca counts from 1 for the first to 2 for the second; the others name the better one.
fn value_of(proper: &Value) -> Option<f64> {
    if let Some(preference) = proper.as_f64() {
        return Some(2.0 - preference);
    }
    let text = proper.as_str()?;
    Some(match text {
        "A" | "A>B" | "A>>B" | "B<A" | "B<<A" => 1.0,
        "B" | "B>A" | "B>>A" | "A<B" | "A<<B" => 0.0,
        "tie" | "A=B" | "B=A" => 0.5,
        other => panic!("no verdict is called {other}"),
    })
}

/// A reply with this text, or with these probabilities of its first token.
fn reply_of(reply: &Value) -> JudgeReply {
    let Some(tokens) = reply.as_array() else {
        return JudgeReply::of_text(reply.as_str().unwrap());
    };
    let mut top = Vec::new();
    for token in tokens {
        top.push((
            token[0].as_str().unwrap().to_owned(),
            token[1].as_f64().unwrap(),
        ));
    }
    let first = TokenLogprob {
        token: top[0].0.clone(),
        logprob: top[0].1,
        top: top.clone(),
    };
    JudgeReply {
        logprobs: Some(vec![first]),
        ..JudgeReply::of_text(top[0].0.as_str())
    }
}

#[test]
fn verdicts_are_read_in_every_form_of_the_peers() {
    let Some(golden) = golden() else { return };
    let cases = golden["parse"].as_array().unwrap();
    assert_eq!(cases.len(), 63);
    let mut unread = Vec::new();
    for case in cases {
        let question = BetterAnswer {
            question: "q".into(),
            first: "a".into(),
            second: "b".into(),
            criterion: None,
            form: form_of(case["form"].as_str().unwrap()),
        };
        let reply = reply_of(&case["reply"]);
        let [found, default] = [Mode::Compat, Mode::Default].map(|mode| {
            let read = question.parse(&reply, mode);
            read.ok().and_then(|reading| reading.verdict.number())
        });
        if default != found {
            assert_eq!(default, None, "{case}");
            unread.push(case["reply"].as_str().unwrap());
        }
        match (found, value_of(&case["proper"])) {
            (Some(found), Some(proper)) => assert!((found - proper).abs() < 1e-12, "{case}"),
            (found, proper) => assert_eq!(found, proper, "{case}"),
        }
    }
    // Two different letters, of which the second may be the loser: the last one counts in compat mode only.
    let two_letters = [
        "A is [[A]]-like but the better one is [[B]]",
        "tie: [[C]] not [[A]]",
        "[[B]]\n\nOn reflection: [[C]]",
    ];
    assert_eq!(unread, two_letters);
}

#[test]
fn win_rates_of_both_games_are_those_of_mt_bench_without_its_lost_pairs() {
    let Some(golden) = golden() else { return };
    for case in golden["mt_bench"].as_array().unwrap() {
        let tag = case["tag"].as_str().unwrap();
        let mut rows = Vec::new();
        for judged in case["judgments"].as_array().unwrap() {
            let models = [&judged["model_1"], &judged["model_2"]];
            // The second game shows the second model first.
            for (key, [first, second]) in
                [("g1_winner", models), ("g2_winner", [models[1], models[0]])]
            {
                let value = match judged[key].as_str().unwrap() {
                    "tie" => 0.5,
                    "error" => continue,
                    winner => f64::from(u8::from(&judged[winner] == first)),
                };
                let question = format!("q{:04}", judged["question_id"].as_u64().unwrap());
                rows.push(serde_json::json!([question, first, second, value]));
            }
        }
        let (verdicts, systems) = verdicts(&rows.into());
        for pair in case["proper"]["pairs"].as_array().unwrap() {
            check_win_rate(pair, &systems, &verdicts, tag);
        }
    }
}

#[test]
fn preferences_of_one_order_have_alpacas_win_rate_and_standard_error() {
    let Some(golden) = golden() else { return };
    for case in golden["alpaca_win_rate"].as_array().unwrap() {
        let tag = case["tag"].as_str().unwrap();
        let mut verdicts = Vec::new();
        for (question, preference) in case["preferences"].as_array().unwrap().iter().enumerate() {
            // 0 is a draw as well as 1.5; what is neither it nor from 1 to 2 is invalid.
            let given = preference.as_f64();
            let valid = given.filter(|own| *own == 0.0 || (1.0..=2.0).contains(own));
            let Some(preference) = valid else {
                continue;
            };
            let value = if preference == 0.0 {
                0.5
            } else {
                2.0 - preference
            };
            verdicts.push(PairVerdict::new(question, 0, 1, value));
        }
        let reference = &case["reference"];
        if reference["win_rate"].as_f64().is_none() {
            continue;
        }
        let found = WinRate::of(1, 0, &verdicts).unwrap();
        let error = found.standard_error.map(|error| 100.0 * error);
        assert_near(
            Some(100.0 * found.win_rate),
            &reference["win_rate"],
            1e-9,
            tag,
        );
        if reference["standard_error"].as_f64().is_some() {
            assert_near(error, &reference["standard_error"], 1e-9, tag);
        }
    }
}
