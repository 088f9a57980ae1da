//! Names in messages: suggestions for unknown ones ("did you mean"), and short lists.

/// Maximum number of names to list.
const SHOWN: usize = 5;

/// Maximum number of characters of a question in a message.
const QUESTION_SHOWN: usize = 60;

/// The nearest known name, if at most a third of the letters differ; two edits are always allowed (swapped letters
/// count as two), one in names under five letters. Ties take the first.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let letters = typed.chars().count();
    // A far-fetched guess misleads more than a list of the known names.
    let allowed = (letters / 3).max(if letters < 5 { 1 } else { 2 });
    known
        .into_iter()
        .map(|name| {
            (
                strsim::levenshtein(&typed, &name.to_lowercase().replace('-', "_")),
                name,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// A model's name without the directories of a path: `qwen.gguf` of `/home/me/qwen.gguf` and of `C:\models\qwen.gguf`.
/// `org/model` is the name of a repository and stays whole.
pub fn without_directories(name: &str) -> &str {
    let is_on_drive = name.get(1..3) == Some(":/");
    let is_path = name.starts_with(['/', '~', '.']) || is_on_drive || name.contains('\\');
    if !is_path && !name.ends_with(".gguf") {
        return name;
    }
    let last = name
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next();
    last.filter(|last| !last.is_empty()).unwrap_or(name)
}

/// `12,345`
pub fn grouped(count: u64) -> String {
    indicatif::HumanCount(count).to_string()
}

/// `1 system`, `1,200 systems`, `2 replies`.
pub fn counted(count: usize, noun: &str) -> String {
    let number = grouped(count as u64);
    match noun.strip_suffix("ly") {
        _ if count == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}lies"),
        None => format!("{number} {noun}s"),
    }
}

/// Hint for an unknown name: the nearest known one, else the first known ones.
pub fn suggest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(unknown, known.iter().copied()) {
        Some(name) => format!("did you mean {}?", name.escape_debug()),
        None if known.is_empty() => String::new(),
        None => format!("known: {}", list(known, SHOWN)),
    }
}

/// `a, b, c and 4 more`.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>, shown: usize) -> String {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| name.escape_debug().to_string())
        .collect();
    let mut text = names
        .iter()
        .take(shown)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > shown {
        text.push_str(&format!(" and {} more", names.len() - shown));
    }
    text
}

/// The beginning of a question.
pub fn start_of(question: &str) -> String {
    let start: String = question.chars().take(QUESTION_SHOWN).collect();
    if start.len() < question.len() {
        start + "\u{2026}"
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_system_lose_their_directories_and_names_of_repositories_stay() {
        let names = [
            "/home/me/q.gguf",
            "C:\\models\\q.gguf",
            "C:/models/q.gguf",
            "./w/q/",
            "~/q",
            "models/q.gguf",
            "org/q",
            "gpt-6-luna",
            "/",
            "",
        ];
        let expected = [
            "q.gguf",
            "q.gguf",
            "q.gguf",
            "q",
            "q",
            "q.gguf",
            "org/q",
            "gpt-6-luna",
            "/",
            "",
        ];
        assert_eq!(names.map(without_directories), expected);
    }

    #[test]
    fn a_close_name_is_suggested_before_the_others_are_listed() {
        let known = ["claude", "gpt", "nora", "perplexity"];
        assert_eq!(suggest("Cluade", known), "did you mean claude?");
        assert_eq!(
            suggest("zzz", known),
            "known: claude, gpt, nora, perplexity"
        );
        assert_eq!(suggest("x", []), "");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(list(["a", "b", "c"], 2), "a, b and 1 more");
    }

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let known = ["model", "base_url", "max_tokens"];
        assert_eq!(nearest("base-ulr", known), Some("base_url"));
        assert_eq!(nearest("max_token", known), Some("max_tokens"));
        assert_eq!(nearest("colour", known), None);
    }
}
