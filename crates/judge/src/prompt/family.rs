//! The prompt families (rubric, aspects, attribution, criteria, cs2, pages), and the hashes of their published texts: the wording
//! itself is not part of this program.

use scholareval_core::question::{KINDS, KindInfo};

/// Prompts that belong together; each family of a set has a fingerprint and a label. Families are those of the
/// [kinds of questions](KINDS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromptFamily(&'static str);

impl PromptFamily {
    /// That of the rubric of ScholarQA-CS.
    pub const RUBRIC: Self = Self("rubric");

    /// All families, in the order of the kinds.
    pub fn all() -> Vec<Self> {
        let mut families: Vec<Self> = KINDS.into_iter().map(Self::of).collect();
        families.dedup();
        families
    }

    /// The family of a kind of question.
    pub fn of(info: &KindInfo) -> Self {
        Self(info.family)
    }

    /// The kinds of questions of the family.
    pub fn kinds(self) -> impl Iterator<Item = &'static KindInfo> {
        KINDS.into_iter().filter(move |info| info.family == self.0)
    }

    /// The family's name in files and tables.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The label of results made with the published wording; none was published for other families.
    pub(crate) fn published_label(self) -> Option<&'static str> {
        match self.0 {
            "rubric" | "aspect" | "attribution" => Some("scholarqabench@95e6fc5"),
            "criteria" | "cs2" => Some("astabench@0.5.4"),
            "pages" => Some("deep_research_bench@214741e"),
            _ => None,
        }
    }
}

/// The ScholarQABench commit in the label.
pub(crate) const COMMIT: &str = "95e6fc52b0a8a0ce0a74956029991e3bb00c38b9";

/// blake3 of each text of the published set, as the importer writes it: a line each, with task, part and hash.
///
/// The texts of `expertise`, `property`, `aspect` and `attribution` reproduce every hash of the reference's recorded
/// requests. Those requests contain no `evidence` and no `citations` call: these texts come from the same script in its
/// first repository, multidoc_qa_eval. Those of `criteria`, `precision` and `citation_group` are of astabench 0.5.4. Those of
/// `statements`, `deduplicate` and `support` reproduce every hash of a whole prompt that FACT's scripts sent.
const PUBLISHED: &str = include_str!("published.txt");

fn published(family: PromptFamily) -> Vec<(&'static str, &'static str)> {
    let mut parts = Vec::new();
    for line in PUBLISHED.lines() {
        let kind = line.split(' ').next().unwrap_or_default();
        if family.kinds().any(|info| info.name == kind) {
            parts.extend(line.rsplit_once(' '));
        }
    }
    parts
}

/// Differences from the published texts, by task and part; `ours` holds (`task part`, blake3 in hex).
pub(crate) fn differences(family: PromptFamily, ours: &[(String, String)]) -> Vec<String> {
    let known = published(family);
    let changed = ours
        .iter()
        .filter(|(part, hash)| !known.contains(&(part.as_str(), hash.as_str())));
    let mut different: Vec<String> = changed.map(|(part, _)| part.clone()).collect();
    let missing = known
        .iter()
        .filter(|(part, _)| !ours.iter().any(|(name, _)| name == part));
    different.extend(missing.map(|(part, _)| (*part).to_owned()));
    // A part that is there twice has known hashes only.
    if different.is_empty() && ours.len() != known.len() {
        different.push("number of files".to_owned());
    }
    different
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUBRIC: PromptFamily = PromptFamily::RUBRIC;

    fn known(family: PromptFamily) -> Vec<(String, String)> {
        published(family)
            .iter()
            .map(|(part, hash)| ((*part).to_owned(), (*hash).to_owned()))
            .collect()
    }

    #[test]
    fn the_published_hashes_do_not_differ_from_themselves() {
        for family in PromptFamily::all() {
            assert_eq!(differences(family, &known(family)), Vec::<String>::new());
        }
    }

    #[test]
    fn one_other_text_is_named() {
        let mut ours = known(RUBRIC);
        ours[5].1 = "00".to_owned();
        assert_eq!(differences(RUBRIC, &ours), ["evidence system"]);
    }

    #[test]
    fn a_missing_and_a_doubled_text_differ() {
        let mut ours = known(RUBRIC);
        let last = ours.pop().unwrap();
        assert_eq!(differences(RUBRIC, &ours), ["citations user"]);
        ours.extend([last.clone(), last]);
        assert_eq!(differences(RUBRIC, &ours), ["number of files"]);
    }
}
