//! Names of systems in a column of a table: whole where they fit, else wrapped, else without their middle; never both.

use std::collections::HashSet;

use crate::report::visible::{visible, without_middle};

/// Lines that a name may take before it is abbreviated.
const LINES: usize = 3;
/// No column of names is made narrower.
pub(super) const NARROWEST: usize = 16;

/// The names in at most so many characters a line, line breaks between. All of a column are treated alike: where one takes
/// too many lines, those that do not fit lose their middle, unless two would look the same.
pub(super) fn fitted(labels: &[&str], room: usize) -> Vec<String> {
    let room = room.max(NARROWEST);
    let whole: Vec<String> = labels.iter().map(|label| visible(label).into_owned()).collect();
    let wrapped: Vec<Vec<String>> = whole.iter().map(|name| wrapped(name, room)).collect();
    if wrapped.iter().all(|lines| lines.len() <= LINES) {
        return wrapped.into_iter().map(|lines| lines.join("\n")).collect();
    }
    let squeezed: Vec<String> = whole.iter().map(|name| without_middle(name, room)).collect();
    let distinct: HashSet<&String> = squeezed.iter().collect();
    let are_distinct = whole.iter().collect::<HashSet<_>>().len() == distinct.len();
    if are_distinct { squeezed } else { wrapped.into_iter().map(|lines| lines.join("\n")).collect() }
}

/// Lines of at most `room` characters, broken behind a space, `-`, `_` or `/` where there is one in reach.
pub(super) fn wrapped(name: &str, room: usize) -> Vec<String> {
    let mut rest: Vec<char> = name.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > room {
        let is_break = |at: &usize| matches!(rest[*at - 1], ' ' | '-' | '_' | '/');
        let at = (1..=room).rev().find(is_break).unwrap_or(room);
        let line: String = rest.drain(..at).collect();
        lines.push(line.trim_end().to_owned());
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_wrapped_at_its_marks_first() {
        assert_eq!(wrapped("gpt-4o-2024-08-06", 12), ["gpt-4o-2024-", "08-06"]);
        assert_eq!(wrapped("openscholar_8b_reranked", 15), ["openscholar_8b_", "reranked"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("two words", 6), ["two", "words"]);
    }

    #[test]
    fn what_takes_too_many_lines_loses_its_middle_and_is_not_wrapped() {
        let long = "a_run_of_a_very_long_name_with_an_even_longer_end/system_one";
        let names = fitted(&[long, "short"], 16);
        assert_eq!(names, ["a_run_o…stem_one", "short"]);
        // Those that differ in the middle only are whole.
        let middle = |part: &str| format!("{}{part}{}", "a".repeat(30), "b".repeat(30));
        let (one, two) = (middle("1"), middle("2"));
        let names = fitted(&[&one, &two], 16);
        assert!(names.iter().all(|name| !name.contains('…')) && names[0] != names[1], "{names:?}");
    }
}
