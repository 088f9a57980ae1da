//! "Did you mean": suggests the known name nearest to a mistyped one.

/// The nearest known name, if at most a third of the letters differ; two edits are always allowed (swapped letters
/// count as two), one in names under five letters. Ties take the first.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let letters = typed.chars().count();
    let allowed = (letters / 3).max(if letters < 5 { 1 } else { 2 });
    known
        .into_iter()
        .map(|name| (strsim::levenshtein(&typed, &name.to_lowercase().replace('-', "_")), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let known = ["model", "base_url", "max_tokens"];
        assert_eq!(nearest("base-ulr", known), Some("base_url"));
        assert_eq!(nearest("max_token", known), Some("max_tokens"));
        assert_eq!(nearest("colour", known), None);
    }
}
