//! Words into lines.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table};

use super::visible;
use super::visible::shortened;

/// An empty table with a line below its header; what is bold in it is so only where colour is allowed.
pub fn plain_table(color: bool) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

/// The first column as names, the others as numbers that keep their width.
pub(super) fn names_left_numbers_right(table: &mut Table) {
    table.set_content_arrangement(ContentArrangement::Disabled);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// Columns that the name of a system takes in a table at most.
pub(super) const NAME: usize = 24;

/// Names as a table shows them: safe, long ones without their middle; in full where two would look alike, since files
/// alone have all names in full.
pub(super) fn table_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let whole: Vec<String> = names.map(|name| visible(name).into_owned()).collect();
    let short: Vec<String> = whole.iter().map(|name| without_middle(name)).collect();
    let is_alone = |at: usize| short.iter().filter(|name| **name == short[at]).count() == 1;
    (0..whole.len()).map(|at| if is_alone(at) { short[at].clone() } else { whole[at].clone() }).collect()
}

/// The name as a note has it: safe, and without its middle where it is long.
pub(super) fn short_name(name: &str) -> String {
    without_middle(&visible(name))
}

fn without_middle(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= NAME {
        return name.to_owned();
    }
    let (head, tail) = (NAME / 2, NAME - NAME / 2 - 1);
    let parts = [&characters[..head], &['…'], &characters[characters.len() - tail..]];
    parts.into_iter().flatten().collect()
}

/// The name on lines of at most `width` characters, ended behind `-`, `_` or a blank; inside a word only where the word
/// is longer than a line.
pub(super) fn name_lines(name: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in name.split_inclusive(['-', '_', ' ']) {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let used = lines.last().map_or(0, |line| line.chars().count());
            if used > 0 && used + rest.len() > width {
                lines.push(String::new());
                continue;
            }
            let taken: String = rest.drain(..rest.len().min(width.max(1))).collect();
            if let Some(line) = lines.last_mut() {
                line.push_str(&taken);
            }
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Numbers as per cent with one decimal.
pub(super) fn per_cent(value: f64) -> String {
    format!("{:.1}", 100.0 * value)
}

/// `1 answer`, `2 answers`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// At most `limit` of the items, each at most 60 characters, then how many more there are.
pub(super) fn listed(items: impl ExactSizeIterator<Item = String>, limit: usize) -> String {
    let more = items.len().saturating_sub(limit);
    let mut shown: Vec<String> = items.take(limit).map(|item| shortened(&item, 60)).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// Appends `text` as an item of a list: a dash, then lines of at most `width` characters, the later ones indented. A
/// word longer than a line stands alone and is not cut.
pub(super) fn push_item(out: &mut String, text: &str, width: usize) {
    const INDENT: &str = "  ";
    let mut line = String::from("-");
    let mut used = 1;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if used + 1 + length > width && used > INDENT.len() {
            out.push_str(&line);
            out.push('\n');
            line.clear();
            line.push(' ');
            used = 1;
        }
        line.push(' ');
        line.push_str(word);
        used += 1 + length;
    }
    out.push_str(&line);
    out.push('\n');
}

/// `text` in lines of at most `width` characters, broken at blanks, without a line break at the end. Lines after a
/// break are indented as their first one is; a word longer than a line (a path, an address) stands alone and is not cut.
pub fn wrapped(text: &str, width: usize) -> String {
    text.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let content = line.trim_start_matches(' ');
    let indent = &line[..line.len() - content.len()];
    let hanging = if content.starts_with("- ") { format!("{indent}  ") } else { indent.to_owned() };
    let (mut out, mut used) = (indent.to_owned(), indent.len());
    for (at, word) in content.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && used + 1 + length > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&hanging);
            used = hanging.len();
        } else if at > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_wrapped_with_its_later_lines_indented() {
        let mut out = String::new();
        push_item(&mut out, "one two three four", 10);
        assert_eq!(out, "- one two\n  three\n  four\n");
    }

    #[test]
    fn a_name_breaks_behind_its_marks_and_loses_its_middle_only_if_it_is_long() {
        assert_eq!(name_lines("gpt-4o-2024-08-06", 13), "gpt-4o-2024-\n08-06");
        assert_eq!(name_lines("perplexity", 10), "perplexity");
        assert_eq!(name_lines("a_perplexity", 6), "a_\nperple\nxity");
        let names = ["openscholar_8b_reranked_with_feedback", "gpt", "openscholar_8b_abc_x_with_feedback"];
        assert_eq!(table_names(names[..2].iter().copied()), ["openscholar_…th_feedback", "gpt"]);
        // Two that would look alike keep their middles.
        assert_eq!(table_names(names.into_iter()), names);
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone() {
        let mut out = String::new();
        push_item(&mut out, "a abcdefghijkl b", 8);
        assert_eq!(out, "- a\n  abcdefghijkl\n  b\n");
    }

    #[test]
    fn lines_break_at_blanks_and_go_on_below_their_beginning() {
        assert_eq!(wrapped("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(wrapped("  one two three", 9), "  one two\n  three");
        assert_eq!(wrapped("- one two three", 9), "- one two\n  three");
        assert_eq!(wrapped("short  as it is\nand a longer line", 15), "short  as it is\nand a longer\nline");
        assert_eq!(wrapped("see /a/very/long/path now", 10), "see\n/a/very/long/path\nnow");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(listed(["a", "b", "c"].map(String::from).into_iter(), 2), "a, b, and 1 more");
        assert_eq!(counted(1, "case") + " " + &counted(0, "case"), "1 case 0 cases");
    }
}
