use super::*;
use crate::dataset::fever::fever_2018_leaderboard;

fn system(user: &str, strict_score: f64, label_accuracy: f64, f1: f64) -> System {
    System {
        file: format!("{user}.jsonl"),
        user: user.to_owned(),
        team: String::new(),
        scores: Ok(FeverScores { strict_score, label_accuracy, precision: 0.5, recall: 0.5, f1 }),
        tally: Tally::default(),
        missing: 0,
        unknown: 0,
    }
}

fn ranks(board: &Leaderboard) -> Vec<(Option<usize>, &str)> {
    board.rows.iter().map(|row| (row.rank, row.user.as_str())).collect()
}

#[test]
fn ties_are_broken_by_label_accuracy_then_by_evidence_f1() {
    let systems = vec![
        system("f1", 0.5, 0.7, 0.2),
        system("best", 0.6, 0.6, 0.0),
        system("accuracy", 0.5, 0.8, 0.1),
        system("better_f1", 0.5, 0.7, 0.3),
        system("same_f1", 0.5, 0.7, 0.2),
        System { scores: Err(Raised::ZeroDivision), ..system("raised", 0.0, 0.0, 0.0) },
        system("last", 0.1, 0.9, 0.9),
    ];
    let board = Leaderboard::new(systems, &[], Some(5), Mode::Compat);
    let expected = [
        (Some(1), "best"),
        (Some(2), "accuracy"),
        (Some(3), "better_f1"),
        (Some(4), "f1"),
        (Some(4), "same_f1"),
        (Some(6), "last"),
        (None, "raised"),
    ];
    assert_eq!(ranks(&board), expected);
    assert!(board.has_unscored());
    assert!(board.table(TableStyle::default()).contains("raised: unscored, the reference raises ZeroDivisionError"));
}

#[test]
fn a_system_stands_where_it_would_have_stood_in_2018() {
    // Athene 0.6158, papelo 0.5736: between them is rank 4.
    let published = fever_2018_leaderboard().unwrap();
    let board = Leaderboard::new(vec![system("mine", 0.6, 0.7, 0.3)], &published, Some(5), Mode::Default);
    assert_eq!(board.rows.len(), 25);
    assert_eq!(ranks(&board)[2..5], [(Some(3), "littsler"), (Some(4), "mine"), (Some(5), "papelo")]);
    // Four decimals as published: 0.49941 ties with chidey's 0.4994; its label accuracy is higher than 0.5972.
    let board = Leaderboard::new(vec![system("mine", 0.499_41, 0.6, 0.0)], &published, Some(5), Mode::Default);
    assert_eq!(ranks(&board)[4..6], [(Some(5), "mine"), (Some(6), "chidey")]);
}

#[test]
fn the_csv_quotes_names_and_leaves_empty_what_is_not_known() {
    let mine = System { team: "A, B".to_owned(), ..system("mine", 0.5, 0.75, 0.25) };
    let board = Leaderboard::new(vec![mine], &fever_2018_leaderboard().unwrap()[..1], None, Mode::Default);
    let csv = board.csv();
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines[1], "1,chaonan99,UNC-NLP,0.5296,0.6821,0.6421,,,,,true");
    assert_eq!(lines[2], "2,mine,\"A, B\",0.25,0.75,0.5,0.5,0.5,0,mine.jsonl,false");
}

#[test]
fn the_table_has_the_columns_of_the_shared_task_and_fits() {
    let board = Leaderboard::new(vec![system("mine\u{1b}", 0.5, 0.75, 0.25)], &[], Some(5), Mode::Default);
    let table = board.table(TableStyle::default());
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("mine\\u{1b}") && table.contains("0.2500"), "{table}");
}
