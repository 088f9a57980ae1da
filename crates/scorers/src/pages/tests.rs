use super::test_support::Pages;
use super::*;
use scholareval_core::domain::{
    Answer, CitedStatement, Judgment, OpenReason, PageState, PageVerdict, Reading, Score,
    StatementSupport, SupportState, TestCase, Verdict,
};
use scholareval_core::question::{JudgeCall, PageSupport};

const A: &str = "https://a.example/";
const B: &str = "https://b.example/";

fn scorer(pages: Pages) -> PageScorer {
    PageScorer {
        pages: Some(Arc::new(pages)),
        page_tokens: PAGE_TOKENS,
        dedup: Dedup::Words,
        is_baseline: false,
        mode: Mode::Default,
    }
}

fn statements(list: &[(&str, &[&str])]) -> Judgment {
    let mut all = Vec::new();
    for (text, urls) in list {
        all.push(CitedStatement {
            text: (*text).to_owned(),
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        });
    }
    Ok(Reading::new(Verdict::Statements(all.into())))
}

/// The verdict by the first word of the statement: `yes` is supported, `no` is not; others the judge leaves open.
fn of_words(statement: &str) -> PageVerdict {
    match statement.split(' ').next() {
        Some("yes") => PageVerdict::Supported,
        Some("no") => PageVerdict::Unsupported,
        _ => PageVerdict::Unreadable,
    }
}

/// Scores an answer of these statements, judged by [`of_words`]; also the items that were asked, in order.
fn run(scorer: &PageScorer, list: &[(&str, &[&str])]) -> (Vec<String>, Score) {
    run_with(scorer, list, |_, statement| of_words(statement))
}

fn run_with(
    scorer: &PageScorer,
    list: &[(&str, &[&str])],
    judge: impl Fn(&PageSupport, &str) -> PageVerdict,
) -> (Vec<String>, Score) {
    let case = TestCase::without_rubric("c".into(), "q");
    let answer = Answer::new("s".into(), "c".into(), "A report.");
    let subject = Subject::new(&case, &answer);
    let mut verdicts = Verdicts::new();
    let mut items = Vec::new();
    loop {
        let calls = match scorer.step(&subject, &verdicts) {
            Step::Ask(calls) => calls,
            Step::Done(score) => return (items, score),
        };
        for call in calls {
            assert!(!verdicts.contains_key(&call.item), "{} twice", call.item);
            items.push(call.item.to_string());
            if &*call.item == "statements" {
                verdicts.insert(Arc::clone(&call.item), statements(list));
            } else {
                answer_support(&call, &judge, &mut verdicts);
            }
        }
    }
}

/// Enters what a reply about some statements says of each, as the pipeline does.
fn answer_support(
    call: &JudgeCall,
    judge: &impl Fn(&PageSupport, &str) -> PageVerdict,
    verdicts: &mut Verdicts,
) {
    let question: &PageSupport = call.question.downcast_ref().unwrap();
    let mut of_call = Vec::new();
    for statement in &*question.statements {
        of_call.push(StatementSupport::of(judge(question, &statement.text)));
    }
    let reading = Reading::new(Verdict::Support(of_call.into()));
    let names = call.items();
    for (name, judgment) in names.into_iter().zip(call.question.split(&Ok(reading))) {
        let item = if judgment.is_ok() {
            name
        } else {
            Arc::clone(&call.item)
        };
        verdicts.insert(item, judgment);
    }
}

fn value(score: &Score, name: &str) -> Option<f64> {
    score.component(name)?.value
}

#[test]
fn each_pair_of_a_statement_and_a_page_counts_once() {
    let pages = Pages::default()
        .with(A, PageState::Ok, "Ice shrinks.")
        .with(B, PageState::Ok, "Ice grows.");
    let list: [(&str, &[&str]); 4] = [
        ("yes one", &[A, B]),
        ("no two", &[A]),
        // The same page by another address, and the same words.
        ("Yes  one.", &["http://www.a.example"]),
        ("yes three", &[B]),
    ];
    let (items, score) = run(&scorer(pages), &list);
    assert_eq!(items, ["statements", "p1", "p2"]);
    assert_eq!(value(&score, "citations"), Some(4.0));
    assert_eq!(value(&score, EFFECTIVE), Some(3.0));
    assert_eq!(score.value, Some(0.75));
    assert_eq!(value(&score, "unverified"), Some(0.0));
    let on_first: Vec<&str> = score.pages[0]
        .statements
        .iter()
        .map(|statement| statement.text.as_str())
        .collect();
    assert_eq!(on_first, ["yes one", "no two"]);
}

#[test]
fn what_nobody_can_judge_is_open_with_its_reason_and_never_asked() {
    let pages = Pages::default()
        .with(A, PageState::Ok, "Ice shrinks.")
        .with("https://gone.example", PageState::Unreachable, "")
        .with("https://wall.example", PageState::Blocked, "Log in");
    let list: [(&str, &[&str]); 5] = [
        ("yes", &[A]),
        ("no reply", &["https://gone.example"]),
        ("no entry", &["https://wall.example"]),
        ("no page", &["https://unknown.example"]),
        ("no address", &[]),
    ];
    let (items, score) = run(&scorer(pages), &list);
    assert_eq!(items, ["statements", "p1s1"]);
    // One of one is supported; four of five are open.
    assert_eq!(score.value, Some(1.0));
    assert_eq!(value(&score, "unverified"), Some(0.8));
    let reasons: Vec<Option<OpenReason>> = score
        .pages
        .iter()
        .map(|page| page.statements[0].open)
        .collect();
    assert_eq!(
        reasons,
        [
            None,
            Some(OpenReason::PageUnreachable),
            Some(OpenReason::PageBlocked),
            Some(OpenReason::PageMissing),
            Some(OpenReason::NoUrl)
        ]
    );
}

#[test]
fn an_answer_without_citations_has_no_accuracy_and_no_effective_citation() {
    let (items, score) = run(&scorer(Pages::default()), &[]);
    assert_eq!(items, ["statements"]);
    assert_eq!((score.value, value(&score, EFFECTIVE)), (None, Some(0.0)));
    assert_eq!(value(&score, "citations"), Some(0.0));
    assert!(score.is_complete() && score.component(ACCURACY).is_none());
}

#[test]
fn a_statement_without_a_verdict_is_asked_alone_and_then_open() {
    let pages = Pages::default().with(A, PageState::Ok, "Ice shrinks.");
    let list: [(&str, &[&str]); 3] = [("yes", &[A]), ("perhaps", &[A]), ("no", &[A])];
    let (items, score) = run(&scorer(pages), &list);
    assert_eq!(items, ["statements", "p1", "p1s2"]);
    let statement = &score.pages[0].statements[1];
    assert_eq!(statement.verdict, SupportState::Open);
    assert_eq!(statement.open, Some(OpenReason::Unreadable));
    assert_eq!(score.value, Some(0.5));
}

#[test]
fn a_long_page_supports_what_one_of_its_parts_supports() {
    let text = format!("{} Ice shrinks.", "glacier ".repeat(8000));
    let pages = Pages::default().with(A, PageState::Ok, &text);
    let scorer = PageScorer {
        page_tokens: NonZeroU64::new(5000).unwrap(),
        ..scorer(pages)
    };
    let list: [(&str, &[&str]); 2] = [("Ice shrinks.", &[A]), ("Ice grows.", &[A])];
    let judge = |question: &PageSupport, statement: &str| {
        if question.page.contains(statement) {
            PageVerdict::Supported
        } else if question.page.contains("Ice") {
            PageVerdict::Unsupported
        } else {
            PageVerdict::NoContent
        }
    };
    let (items, score) = run_with(&scorer, &list, judge);
    assert_eq!(items, ["statements", "p1", "p1.2"]);
    assert_eq!(value(&score, EFFECTIVE), Some(1.0));
    let statements = &score.pages[0].statements;
    assert_eq!(statements[1].verdict, SupportState::Unsupported);
    assert!(
        statements[0]
            .passage
            .as_deref()
            .unwrap()
            .contains("shrinks")
    );
}

#[test]
fn a_page_that_the_judge_finds_empty_is_open_and_one_longer_than_all_parts_too() {
    let long = "glacier ".repeat(60_000);
    let pages = Pages::default()
        .with(A, PageState::Ok, "Please wait.")
        .with(B, PageState::Ok, &long);
    let scorer = PageScorer {
        page_tokens: NonZeroU64::new(2000).unwrap(),
        ..scorer(pages)
    };
    let list: [(&str, &[&str]); 2] = [("yes", &[A]), ("no", &[B])];
    let (items, score) = run_with(&scorer, &list, |_, _| PageVerdict::NoContent);
    assert_eq!(items, ["statements", "p1s1"]);
    let open = |page: usize| score.pages[page].statements[0].open;
    assert_eq!(open(0), Some(OpenReason::PageEmpty));
    assert_eq!(open(1), Some(OpenReason::PageTooLong));
    assert_eq!((score.value, score.is_complete()), (None, true));
}

#[test]
fn a_judge_that_was_not_reached_leaves_the_answer_without_a_score() {
    let pages = Pages::default().with(A, PageState::Ok, "Ice shrinks.");
    let scorer = scorer(pages);
    let case = TestCase::without_rubric("c".into(), "q");
    let answer = Answer::new("s".into(), "c".into(), "A report.");
    for kind in [UnscoredKind::NotAsked, UnscoredKind::Unreachable] {
        let lost = UnscoredReason::new(kind, "no reply");
        let verdicts = Verdicts::from([
            ("statements".into(), statements(&[("yes", &[A])])),
            ("p1s1".into(), Err(lost)),
        ]);
        let Step::Done(score) = scorer.step(&Subject::new(&case, &answer), &verdicts) else {
            panic!("it is asked again");
        };
        assert!(!score.is_complete() && score.pages.is_empty(), "{kind:?}");
    }
}

#[test]
fn more_effective_citations_are_better_and_more_unverified_ones_are_not() {
    let is_better = |metric, unit| PAGES.is_better_higher(metric, unit);
    assert!(is_better(ACCURACY, Unit::Share) && is_better(EFFECTIVE, Unit::Count));
    assert!(!is_better("unverified", Unit::Share) && !is_better("citations", Unit::Count));
}

#[test]
fn a_judge_may_say_which_statements_of_a_readable_page_are_one() {
    let pages =
        Pages::default()
            .with(A, PageState::Ok, "a page")
            .with(B, PageState::Blocked, "a wall");
    let scorer = PageScorer {
        dedup: Dedup::Judge,
        ..scorer(pages)
    };
    let case = TestCase::without_rubric("c".into(), "q");
    let answer = Answer::new("s".into(), "c".into(), "A report.");
    let subject = Subject::new(&case, &answer);
    let list: [(&str, &[&str]); 4] = [
        ("yes one", &[A]),
        ("yes one again", &[A]),
        ("no two", &[B]),
        ("no two again", &[B]),
    ];
    let mut verdicts = Verdicts::from([("statements".into(), statements(&list))]);
    let items = |verdicts: &Verdicts| match scorer.step(&subject, verdicts) {
        Step::Ask(calls) => calls.iter().map(|call| call.item.to_string()).collect(),
        Step::Done(score) => vec![format!("{:?}", score.component("citations").unwrap().value)],
    };
    assert_eq!(items(&verdicts), ["d1"]);
    let kept = Reading::new(Verdict::Kept([0].into()));
    verdicts.insert("d1".into(), Ok(kept));
    assert_eq!(items(&verdicts), ["p1s1"]);
    let support = StatementSupport::of(PageVerdict::Supported);
    let support = Reading::new(Verdict::Support([support].into()));
    verdicts.insert("p1s1".into(), Ok(support));
    // One about the page, and two about the wall, which nobody was asked to compare.
    assert_eq!(items(&verdicts), ["Some(3.0)"]);
}
