//! The gold of all claims, compactly.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::lines::{Line, map_blocks};
use super::wire::WireLine;
use crate::dataset::text_file::as_text;
use crate::domain::Mode;
use crate::domain::fever::{ClaimId, Gold, Label, Sentence};
use crate::error::{Error, InputFault, Result};

/// More faults than this are not collected.
pub(super) const FAULTS_KEPT: usize = 1_000;

/// The gold labels and evidence of a file, in file order.
#[derive(Debug, Default)]
pub struct FeverGold {
    path: PathBuf,
    blocks: Vec<Block>,
    /// The index of each block's first claim.
    starts: Vec<usize>,
    ids: Vec<Option<ClaimId<'static>>>,
    lines: Vec<usize>,
    by_id: HashMap<ClaimId<'static>, usize>,
}

/// Some hundred claims, their page names in one text.
#[derive(Debug, Default)]
struct Block {
    pages: String,
    sentences: Vec<PackedSentence>,
    /// Where each group ends in `sentences`.
    group_ends: Vec<u32>,
    /// Each claim's label, and where it ends in `group_ends`.
    claims: Vec<(Label<'static>, u32)>,
    ids: Vec<Option<ClaimId<'static>>>,
    lines: Vec<usize>,
}

/// A sentence whose page name stands at `start..end` of the block's text; a range that ends before it starts is no page.
#[derive(Debug)]
struct PackedSentence {
    page: (u32, u32),
    line: Option<i64>,
}

/// The range of no page.
const NO_PAGE: (u32, u32) = (1, 0);

impl FeverGold {
    /// Reads a gold file: JSONL of `{id?, label, evidence, ..}`.
    ///
    /// # Errors
    /// Every line that is no such object, with file, line and id; in default mode also labels that the task does not
    /// have; a file without a claim.
    pub fn load(path: &Path, mode: Mode) -> Result<Self> {
        let mut gold = Self { path: path.to_path_buf(), ..Self::default() };
        let mut faults = Vec::new();
        map_blocks(
            path,
            |lines| Block::of(lines, path, mode),
            |(block, found)| {
                gold.push(block);
                faults.extend(found);
                if faults.len() > FAULTS_KEPT { Err(Error::Input(std::mem::take(&mut faults))) } else { Ok(()) }
            },
        )?;
        if !faults.is_empty() {
            return Err(Error::Input(faults));
        }
        if gold.is_empty() {
            let hint = "a line of JSON for each claim is expected";
            return Err(InputFault::new(path, "no claim in the gold file").hint(hint).into());
        }
        Ok(gold)
    }

    /// Prepares [`FeverGold::find`].
    ///
    /// # Errors
    /// Claims without an id, with a placeholder, or with one id.
    pub fn index_ids(&mut self) -> Result<()> {
        let mut faults = Vec::new();
        self.by_id.reserve(self.ids.len());
        for (index, id) in self.ids.iter().enumerate() {
            let fault = match id.as_ref().filter(|id| !id.is_placeholder()) {
                None => "the claim has no id (0 is a placeholder)".to_owned(),
                Some(id) => match self.by_id.insert(id.clone(), index) {
                    None => continue,
                    Some(first) => format!("id {id} is also the id of line {}", self.lines[first]),
                },
            };
            faults.push(InputFault::new(&self.path, fault).at_line(self.lines[index]).hint("use --join order"));
        }
        if faults.is_empty() { Ok(()) } else { Err(Error::Input(faults)) }
    }

    /// How many claims there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The file it came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The gold of a claim, by its place in the file.
    pub fn get(&self, index: usize) -> Option<Gold<'_>> {
        let at = self.starts.partition_point(|start| *start <= index).checked_sub(1)?;
        self.blocks[at].get(index - self.starts[at])
    }

    /// The id of a claim, placeholders included.
    pub fn id(&self, index: usize) -> Option<&ClaimId<'static>> {
        self.ids.get(index)?.as_ref()
    }

    /// The place of the claim with this id, after [`FeverGold::index_ids`].
    pub fn find<'a>(&'a self, id: &ClaimId<'a>) -> Option<usize> {
        let by_id: &HashMap<ClaimId<'a>, usize> = &self.by_id;
        by_id.get(id).copied()
    }

    fn push(&mut self, mut block: Block) {
        self.starts.push(self.ids.len());
        self.ids.append(&mut block.ids);
        self.lines.append(&mut block.lines);
        self.blocks.push(block);
    }
}

impl Block {
    fn of(lines: &[Line<'_>], path: &Path, mode: Mode) -> (Self, Vec<InputFault>) {
        let (mut block, mut faults) = (Self::default(), Vec::new());
        for line in lines {
            if let Err(found) = block.add(line, path, mode) {
                faults.extend(found);
            }
        }
        // It is kept as long as the command runs.
        block.pages.shrink_to_fit();
        block.sentences.shrink_to_fit();
        block.group_ends.shrink_to_fit();
        block.claims.shrink_to_fit();
        (block, faults)
    }

    fn add(&mut self, line: &Line<'_>, path: &Path, mode: Mode) -> Result<(), Vec<InputFault>> {
        let text = as_text(line.bytes, path, line.number).map_err(|fault| vec![fault])?;
        let at = |what: String| InputFault::new(path, what).at_line(line.number);
        let mut read = WireLine::read_gold(text).map_err(|what| vec![at(what)])?;
        let id = read.id.take().map(ClaimId::into_owned);
        let of_claim = |what: String| match &id {
            Some(id) => at(what).of_case(id.to_string()),
            None => at(what),
        };
        let missing = [("label", read.label.is_none()), ("evidence", read.evidence.is_none())];
        let missing: Vec<_> = missing.into_iter().filter(|(_, is_missing)| *is_missing).collect();
        if !missing.is_empty() {
            let hint = "this is no gold file: it needs label and evidence for each claim";
            return Err(missing.iter().map(|(key, _)| of_claim(format!("{key} is missing")).hint(hint)).collect());
        }
        read.prediction.label = Ok(Label::Supports); // whatever is predicted here is not asked for
        let unknown = if mode == Mode::Default { read.unknown_labels() } else { Vec::new() };
        if !unknown.is_empty() {
            return Err(unknown.into_iter().map(of_claim).collect());
        }
        if let Some(gold) = read.take_gold() {
            self.pack(gold);
            self.ids.push(id);
            self.lines.push(line.number);
        }
        Ok(())
    }

    fn pack(&mut self, gold: Gold<'_>) {
        for group in gold.groups() {
            for sentence in group.0 {
                let page = sentence.page.as_deref().map_or(NO_PAGE, |page| self.page(page));
                self.sentences.push(PackedSentence { page, line: sentence.line });
            }
            self.group_ends.push(packed(self.sentences.len()));
        }
        self.claims.push((gold.label.into_owned(), packed(self.group_ends.len())));
    }

    /// Where the page's name stands in the text; sentences of one page follow each other.
    fn page(&mut self, page: &str) -> (u32, u32) {
        let last = self.sentences.last().map_or(NO_PAGE, |sentence| sentence.page);
        if self.page_at(last) == Some(page) {
            return last;
        }
        let start = self.pages.len();
        self.pages.push_str(page);
        (packed(start), packed(self.pages.len()))
    }

    fn page_at(&self, (start, end): (u32, u32)) -> Option<&str> {
        (start <= end).then(|| self.pages.get(start as usize..end as usize).unwrap_or_default())
    }

    fn get(&self, index: usize) -> Option<Gold<'_>> {
        let (label, group_end) = self.claims.get(index)?;
        let before = |index: usize| index.checked_sub(1);
        let first_group = before(index).map_or(0, |before| self.claims[before].1) as usize;
        let groups = &self.group_ends[first_group..*group_end as usize];
        let first = before(first_group).map_or(0, |before| self.group_ends[before]) as usize;
        let last = groups.last().map_or(first, |end| *end as usize);
        let sentences = self.sentences[first..last]
            .iter()
            .map(|packed| Sentence { page: self.page_at(packed.page).map(Cow::Borrowed), line: packed.line });
        let ends = groups.iter().map(|end| *end as usize - first).collect();
        Some(Gold::from_flat(label.clone(), sentences.collect(), ends))
    }
}

/// A place in a block. A block holds a few hundred lines, so no real one is beyond 4 GB; if one were, its names would be
/// cut and not mistaken.
fn packed(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, mode: Mode) -> Result<FeverGold> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gold.jsonl");
        std::fs::write(&path, text).unwrap();
        FeverGold::load(&path, mode)
    }

    #[test]
    fn what_was_packed_comes_out_again_also_across_blocks() {
        let text: String = (0..700)
            .map(|i| format!("{{\"id\": {i}, \"label\": \"SUPPORTS\", \"evidence\": [[[1, 2, \"p\", {i}], [1, 2, \"p\", 1]], [], [[1, 2, \"é{i}\", null]]]}}\n"))
            .collect();
        let gold = load(&text, Mode::Default).unwrap();
        assert_eq!((gold.len(), gold.blocks.len()), (700, 3));
        for index in [0, 255, 256, 699] {
            let groups = [
                vec![Sentence::new("p", index as i64), Sentence::new("p", 1)],
                vec![],
                vec![Sentence { page: Some(format!("é{index}").into()), line: None }],
            ];
            assert_eq!(gold.get(index), Some(Gold::new(Label::Supports, groups)));
        }
        assert_eq!(gold.get(700), None);
    }

    #[test]
    fn faults_name_line_and_id() {
        let error = load(
            "\n{\"id\": 5, \"label\": \"MAYBE\", \"evidence\": []}\n{\"id\": 6, \"claim\": \"c\"}\nx",
            Mode::Default,
        )
        .unwrap_err()
        .to_string();
        let lines: Vec<_> = error.lines().map(|line| line.split_once("gold.jsonl").unwrap().1).collect();
        assert_eq!(lines[0], ":2 (case 5): label: expected one of SUPPORTS, REFUTES, NOT ENOUGH INFO, found \"MAYBE\"");
        assert!(lines[1].starts_with(":3 (case 6): label is missing; this is no gold file"));
        assert!(lines[2].starts_with(":3 (case 6): evidence is missing"));
        assert!(lines[3].starts_with(":4: invalid JSON"));
        assert!(load("{\"label\": \"MAYBE\", \"evidence\": []}", Mode::Compat).is_ok());
    }

    #[test]
    fn by_id_every_claim_needs_one_of_its_own() {
        let line = |id: &str| format!("{{\"id\": {id}, \"label\": \"REFUTES\", \"evidence\": []}}\n");
        let mut gold = load(&(line("5") + &line("\"x\"")), Mode::Default).unwrap();
        gold.index_ids().unwrap();
        assert_eq!(gold.find(&ClaimId::read("x")), Some(1));
        let mut gold = load(&(line("5") + &line("5") + &line("0")), Mode::Default).unwrap();
        let error = gold.index_ids().unwrap_err().to_string();
        assert!(error.contains(":2: id 5 is also the id of line 1; use --join order"), "{error}");
        assert!(error.contains(":3: the claim has no id (0 is a placeholder)"), "{error}");
    }
}
