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

/// blake3 of each text of the published set, by task and part, as the importer writes it.
///
/// The texts of `expertise`, `property`, `aspect` and `attribution` reproduce every hash of the reference's recorded
/// requests. Those requests contain no `evidence` and no `citations` call: these texts come from the same script in its
/// first repository, multidoc_qa_eval. Those of `criteria`, `precision` and `citation_group` are of astabench 0.5.4. Those of
/// `statements`, `deduplicate` and `support` reproduce every hash of a whole prompt that FACT's scripts sent.
const PUBLISHED: [(&str, &str); 25] = [
    (
        "expertise criterion",
        "0f4e81c1b35b6ee3a71bd80421a48bee6654c1046f16083bd35c8be58b6d0776",
    ),
    (
        "expertise system",
        "60fee52e036aba41989af51e94a81420802c5700c90a0e3aa3c5d8c29cc1fedf",
    ),
    (
        "expertise user",
        "95ed341e07d9bbdc7f514f4da1f658c415882e4580e4f6ad7b500483fbff5e22",
    ),
    (
        "property system",
        "60fee52e036aba41989af51e94a81420802c5700c90a0e3aa3c5d8c29cc1fedf",
    ),
    (
        "property user",
        "95ed341e07d9bbdc7f514f4da1f658c415882e4580e4f6ad7b500483fbff5e22",
    ),
    (
        "evidence system",
        "320f96a2299e2b7616cb6100aa7625d33e3ce7915c536afce07995c017b79ba4",
    ),
    (
        "evidence user",
        "7b8ca061db49bbfa2c2c576c17624c1c5f2c4e671e3eb4b0c95dbd66d2cf35f6",
    ),
    (
        "citations system",
        "b8c5de4f2d4c609746f1dc226580d4f9ddd4267c28d96a6edc1693a9095cb411",
    ),
    (
        "citations user",
        "729c7662585366599e3f7617699eef26dc3da86e266422223f5256c7dae849f8",
    ),
    (
        "aspect system",
        "772c226db96d85d85f8a1ab92e003d135c7a8e07c63ea3721eccb5d47c9cd1a8",
    ),
    (
        "aspect with_reference",
        "a40ce0adf2f8ad371afd9fb6fb5422e569613cf44e97152f2df1690804291d41",
    ),
    (
        "aspect without_reference",
        "54f2cd70271bade7d3d1d4107394bd9e3f973026567882bb12317addfaa763a5",
    ),
    (
        "attribution user",
        "3ff8dec0756939f2bca6a4ca5cea6478e6273c5b504c75eba2a989f8b0681de4",
    ),
    (
        "criteria criterion",
        "936525f45a02d2476ae4d03535963c02976c28d63733852df3c946ea9756317d",
    ),
    (
        "criteria system",
        "b84229a016fecc852019650c59244f7fb43abec3519e05eb9cdbe2054af3db26",
    ),
    (
        "criteria user",
        "3bdf8799d233cfc8105e20cf82a140ea93cd1920aeac5f8f3f15a28b6b827e8e",
    ),
    (
        "precision user",
        "139f6d73fc413e17e71b8ea9d746acb8afc5e44dc48a7097e719d0ae298c6541",
    ),
    (
        "citation_group marker",
        "7fac2d5336f445efa975a7d1127eded06cda9cbbe397f3a7f026b9127f956386",
    ),
    (
        "citation_group user",
        "e7659c60f49cb762c8179f4dfb98501c1b351bc4b1574be4d5d12056bfe36051",
    ),
    (
        "deduplicate chinese",
        "70f7859888243608b772d11ff478cd36dff350d5acc87731ae5fb78427cc947a",
    ),
    (
        "deduplicate user",
        "512f48b6af706ab5d7ff8a678bc80a7c4f42d3d51d2146f6bb69a51a666efdf3",
    ),
    (
        "statements chinese",
        "abc479540e6f27c8019dbf85420937205bb9ea06673904af9fc6114f396c230e",
    ),
    (
        "statements user",
        "503d20121e341dfcf5a0d745c301329573ab8e2f43b9262dd351589309de1c27",
    ),
    (
        "support chinese",
        "8098ca15ad8a7bfb4c62fb255654dec672fdbba4da991f65cfbb744c530512e8",
    ),
    (
        "support user",
        "5af3405d53eb0bbda1850a27d4d2132eeb60315e4c1805e0b04e474dfc5f41bf",
    ),
];

fn published(family: PromptFamily) -> Vec<(&'static str, &'static str)> {
    let mut parts = Vec::new();
    for (part, hash) in PUBLISHED {
        let kind = part.split(' ').next().unwrap_or_default();
        if family.kinds().any(|info| info.name == kind) {
            parts.push((part, hash));
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
