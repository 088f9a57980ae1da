//! Which wording is the published one, known by hashes: the wording itself is not part of this program.

/// How results made with the published wording are reported.
pub(crate) const LABEL: &str = "scholarqabench@95e6fc5";

/// blake3 of each text of a set imported from ScholarQABench, as the importer writes it.
const PUBLISHED: [(&str, &str); 0] = [];

/// The texts that differ from the published ones, by task and part; `ours` holds (`task part`, hex digits of blake3).
pub(crate) fn differences(ours: &[(String, String)]) -> Vec<String> {
    let mut different: Vec<String> = ours
        .iter()
        .filter(|(part, hash)| !PUBLISHED.contains(&(part.as_str(), hash.as_str())))
        .map(|(part, _)| part.clone())
        .collect();
    let missing = PUBLISHED.iter().filter(|(part, _)| !ours.iter().any(|(own, _)| own == part));
    different.extend(missing.map(|(part, _)| (*part).to_owned()));
    different
}
