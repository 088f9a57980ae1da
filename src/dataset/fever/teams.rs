//! Who stands behind a file of predictions, and who stood on the leaderboard of 2018.

use std::path::Path;

use crate::dataset::text_file::{as_text, read_bytes};
use crate::error::{Error, InputFault, Result};

/// The published leaderboard; its columns are those of the file.
const LEADERBOARD: &str = include_str!("../../../data/fever_2018_leaderboard.csv");

/// A line of the `--teams` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// The file of predictions, as it is given on the command line, or its name alone.
    pub file: String,
    /// Who submits it.
    pub user: String,
    /// For which team; may be empty.
    pub team: String,
}

/// A row of the shared task's published leaderboard, each number 0..=1 with four decimals.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Who submitted.
    pub user: String,
    /// For which team; may be empty.
    pub team: String,
    /// Evidence F1.
    pub evidence_f1: f64,
    /// Label accuracy.
    pub label_accuracy: f64,
    /// FEVER score (strict).
    pub fever_score: f64,
}

/// Reads a CSV of `file`, `user`, `team`, with or without a header.
///
/// # Errors
/// A row of another width, an open quote, a file named twice, no UTF-8.
pub fn load_teams(path: &Path) -> Result<Vec<Team>> {
    let bytes = read_bytes(path)?.0;
    let text = as_text(&bytes, path, 1)?;
    let (mut teams, mut faults): (Vec<Team>, Vec<InputFault>) = Default::default();
    for (line, cells) in rows(text).map_err(|line| open_quote(path, line))? {
        let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        let at = |what: String| InputFault::new(path, what).at_line(line);
        match cells.as_slice() {
            ["file", "user", "team"] if line == 1 => {}
            [file, ..] if teams.iter().any(|team| team.file == *file) => {
                faults.push(at(format!("{file} is named twice")).hint("keep one of the two lines"));
            }
            [file, user, rest @ ..] if rest.len() <= 1 => teams.push(Team {
                file: (*file).to_owned(),
                user: (*user).to_owned(),
                team: rest.first().copied().unwrap_or_default().to_owned(),
            }),
            _ => faults.push(at(format!("expected file,user,team, found {} cells", cells.len()))),
        }
    }
    if faults.is_empty() { Ok(teams) } else { Err(Error::Input(faults)) }
}

/// The 24 rows of the shared task's leaderboard (preliminary results of 2018, <https://fever.ai/2018/task.html>), in its
/// order.
///
/// # Errors
/// [`Error::Internal`] if the table that is compiled in is broken; a test keeps it whole.
pub fn fever_2018_leaderboard() -> Result<Vec<PublishedRow>> {
    let broken = || Error::Internal("data/fever_2018_leaderboard.csv is broken".to_owned());
    let rows = rows(LEADERBOARD).map_err(|_| broken())?;
    rows.into_iter().skip(1).map(|(_, cells)| published(&cells).ok_or_else(broken)).collect()
}

fn published(cells: &[String]) -> Option<PublishedRow> {
    let [_, user, team, evidence_f1, label_accuracy, fever_score] = cells else { return None };
    Some(PublishedRow {
        user: user.clone(),
        team: team.clone(),
        evidence_f1: evidence_f1.parse().ok()?,
        label_accuracy: label_accuracy.parse().ok()?,
        fever_score: fever_score.parse().ok()?,
    })
}

fn open_quote(path: &Path, line: usize) -> InputFault {
    InputFault::new(path, "a quote is opened and not closed").at_line(line).hint("write \"\" for a quote inside quotes")
}

/// The rows of a CSV (RFC 4180) that are not blank, with the 1-based line of each. The line of an open quote is the
/// error.
fn rows(text: &str) -> Result<Vec<(usize, Vec<String>)>, usize> {
    let (mut rows, mut cells, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut line, mut start, mut quoted, mut opened) = (1, 1, false, 1);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => (quoted, opened) = (true, line),
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                finish(&mut rows, start, &mut cells, &mut cell);
                start = line + 1;
            }
            _ => cell.push(character),
        }
        line += usize::from(character == '\n');
    }
    if quoted {
        return Err(opened);
    }
    finish(&mut rows, start, &mut cells, &mut cell);
    Ok(rows)
}

fn finish(rows: &mut Vec<(usize, Vec<String>)>, line: usize, cells: &mut Vec<String>, cell: &mut String) {
    if cell.ends_with('\r') {
        cell.pop();
    }
    if !(cells.is_empty() && cell.trim().is_empty()) {
        cells.push(std::mem::take(cell));
        rows.push((line, std::mem::take(cells)));
    }
    cell.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_leaderboard_has_its_24_rows_in_the_order_of_its_own_rules() {
        let rows = fever_2018_leaderboard().unwrap();
        assert_eq!(rows.len(), 24);
        assert_eq!(
            (rows[0].user.as_str(), rows[0].team.as_str(), rows[0].fever_score),
            ("chaonan99", "UNC-NLP", 0.6421)
        );
        assert_eq!((rows[3].user.as_str(), rows[3].team.as_str(), rows[3].evidence_f1), ("papelo", "", 0.6485));
        assert_eq!(rows[19].team, "FEVER Baseline");
        assert!(rows.windows(2).all(|pair| pair[0].fever_score >= pair[1].fever_score));
        assert!(rows.iter().all(|row| row.fever_score <= row.label_accuracy && row.label_accuracy <= 1.0));
    }

    fn load(text: &str) -> Result<Vec<Team>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("teams.csv");
        std::fs::write(&path, text).unwrap();
        load_teams(&path)
    }

    #[test]
    fn teams_may_have_a_header_quotes_and_no_team() {
        let teams = load("file,user,team\r\na.jsonl,ann,\"A, B \"\"C\"\"\"\r\n\r\nb.jsonl,bob\n").unwrap();
        let cells: Vec<_> = teams.iter().map(|team| [&*team.file, &*team.user, &*team.team]).collect();
        assert_eq!(cells, [["a.jsonl", "ann", "A, B \"C\""], ["b.jsonl", "bob", ""]]);
    }

    #[test]
    fn a_bad_row_is_told_with_its_line() {
        let told = |text| load(text).unwrap_err().to_string();
        assert!(told("a,b,c\nx\n").ends_with(":2: expected file,user,team, found 1 cells"));
        assert!(told("a,b,c\na,b,d\n").ends_with(":2: a is named twice; keep one of the two lines"));
        assert!(told("a,b,c\n\"x,b\n").contains(":2: a quote is opened"));
    }
}
