//! Predictions, read as a stream and joined to their gold.

use std::path::Path;

use rayon::slice::ParallelSliceMut;

use super::gold::{FAULTS_KEPT, FeverGold};
use super::lines::{Line, map_blocks};
use super::wire::WireLine;
use crate::dataset::text_file::as_text;
use crate::domain::Mode;
use crate::domain::fever::{ClaimId, Gold, Prediction, Raised};
use crate::error::{Error, InputFault, Result};

/// How predictions find their gold in a gold file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Join {
    /// The n-th prediction belongs to the n-th claim, as the shared task has it.
    #[default]
    Order,
    /// By `id`.
    Id,
}

/// One prediction beside its gold.
#[derive(Debug)]
pub struct JoinedPrediction<'a> {
    /// 1-based line of the prediction.
    pub line: usize,
    /// The prediction's id.
    pub id: Option<ClaimId<'a>>,
    /// The gold.
    pub gold: Gold<'a>,
    /// The prediction.
    pub prediction: Prediction<'a>,
}

/// What reading a file of predictions found besides the predictions.
#[derive(Debug, Default)]
pub struct PredictionsRead {
    /// Predictions that were joined to gold.
    pub joined: usize,
    /// Of these, how many brought their own gold while a gold file was given.
    pub own_gold: usize,
    /// Predictions whose id no claim has (join by id); they are left out.
    pub unknown: usize,
    /// Claims of the gold file that nothing was predicted for (join by id).
    pub missing: Vec<usize>,
    /// What is odd, with file, line and id.
    pub warnings: Vec<InputFault>,
    /// What ends the reference (compat mode only).
    pub raised: Option<Raised>,
}

/// A file of predictions and what it is joined to.
#[derive(Debug, Clone, Copy)]
pub struct PredictionFile<'g> {
    /// The file: JSONL of `{id?, predicted_label, predicted_evidence}`, with `label` and `evidence` where the gold
    /// stands in it.
    pub path: &'g Path,
    /// The gold file, for predictions without gold of their own.
    pub gold: Option<&'g FeverGold>,
    /// How they are joined. By id needs [`FeverGold::index_ids`].
    pub join: Join,
    /// Default mode refuses what the task does not allow; compat mode leaves that to the scorer.
    pub mode: Mode,
}

/// At most this many warnings of one kind.
const WARNINGS_KEPT: usize = 5;

/// What became of a line.
enum Outcome<T> {
    Joined { value: T, line: usize, id: Option<ClaimId<'static>>, claim: Option<usize> },
    Unknown(InputFault),
    Raised(Raised),
    Faults(Vec<InputFault>),
}

impl PredictionFile<'_> {
    /// Maps every prediction and its gold, in parallel, and hands the results on in file order.
    ///
    /// # Errors
    /// Every line that cannot be used, with file, line and id. Default mode: fields that are missing or of a wrong type,
    /// unknown labels, ids that differ from the gold's, a claim predicted twice, another number of lines than the gold
    /// has. Both modes: invalid JSON, malformed gold; by id: predictions without an id.
    pub fn read<T: Send>(
        &self,
        map: impl Fn(&JoinedPrediction<'_>) -> T + Sync,
        mut fold: impl FnMut(T),
    ) -> Result<PredictionsRead> {
        let mut book = Book::default();
        let seen = if self.join == Join::Id { self.gold.map_or(0, FeverGold::len) } else { 0 };
        book.seen.resize(seen, 0);
        map_blocks(
            self.path,
            |lines| lines.iter().map(|line| self.line(line, &map)).collect::<Vec<_>>(),
            |outcomes| {
                for outcome in outcomes {
                    if let Some(value) = book.enter(outcome, self) {
                        fold(value);
                    }
                }
                if book.faults.len() > FAULTS_KEPT {
                    Err(Error::Input(std::mem::take(&mut book.faults)))
                } else {
                    Ok(())
                }
            },
        )?;
        book.close(self)
    }

    fn line<T>(&self, line: &Line<'_>, map: &impl Fn(&JoinedPrediction<'_>) -> T) -> Outcome<T> {
        let text = match as_text(line.bytes, self.path, line.number) {
            Ok(text) => text,
            Err(fault) => return Outcome::Faults(vec![fault]),
        };
        let mut read = match WireLine::read(text) {
            Ok(read) => read,
            Err(what) => return Outcome::Faults(vec![self.fault(line, None, what)]),
        };
        let id = read.id.take();
        if self.mode == Mode::Default {
            let unknown = read.unknown_labels();
            if !(read.faults.is_empty() && unknown.is_empty()) {
                let faults = read.faults.into_iter().chain(unknown);
                return Outcome::Faults(faults.map(|what| self.fault(line, id.as_ref(), what)).collect());
            }
        }
        let (gold, claim) = match read.take_gold() {
            Some(own) => (own, None),
            None => match self.partner(line, id.as_ref()) {
                Ok((gold, claim)) => (gold, Some(claim)),
                Err(outcome) => return outcome,
            },
        };
        let joined = JoinedPrediction { line: line.number, id, gold, prediction: read.prediction };
        let value = map(&joined);
        // Only ids that the gold has not confirmed are looked at again.
        let confirmed = claim.and_then(|claim| self.gold?.id(claim)).is_some_and(|id| !id.is_placeholder());
        let id = joined.id.filter(|id| !confirmed && !id.is_placeholder()).map(ClaimId::into_owned);
        Outcome::Joined { value, line: line.number, id, claim }
    }

    /// The gold file's entry for a prediction.
    fn partner<T>(&self, line: &Line<'_>, id: Option<&ClaimId<'_>>) -> Result<(Gold<'_>, usize), Outcome<T>> {
        let refused = |what: String, hint: &str| Err(Outcome::Faults(vec![self.fault(line, id, what).hint(hint)]));
        let Some(gold) = self.gold else {
            return match self.mode {
                Mode::Compat => Err(Outcome::Raised(Raised::Assertion)),
                Mode::Default => refused("the line has no gold label and evidence".to_owned(), "give --gold FILE"),
            };
        };
        if self.join == Join::Id {
            let Some(id) = id else { return refused("id is missing".to_owned(), "use --join order") };
            let Some(claim) = gold.find(id) else {
                let what = format!("no claim of {} has this id; left out", gold.path().display());
                return Err(Outcome::Unknown(self.fault(line, Some(id), what)));
            };
            return gold.get(claim).map(|found| (found, claim)).ok_or(Outcome::Raised(Raised::Assertion));
        }
        let Some(found) = gold.get(line.index) else { return Err(Outcome::Raised(Raised::Assertion)) };
        let differs = match (id, gold.id(line.index)) {
            (Some(id), Some(wanted)) => !wanted.is_placeholder() && !id.is_placeholder() && id != wanted,
            _ => false,
        };
        match gold.id(line.index).filter(|_| differs && self.mode == Mode::Default) {
            None => Ok((found, line.index)),
            Some(wanted) => refused(
                format!("claim number {} of {} has the id {wanted}", line.index + 1, gold.path().display()),
                "keep the order of the claims, or use --join id",
            ),
        }
    }

    fn fault(&self, line: &Line<'_>, id: Option<&ClaimId<'_>>, what: String) -> InputFault {
        let fault = InputFault::new(self.path, what).at_line(line.number);
        match id {
            Some(id) => fault.of_case(id.to_string()),
            None => fault,
        }
    }
}

/// What is kept over all lines.
#[derive(Default)]
struct Book {
    read: PredictionsRead,
    faults: Vec<InputFault>,
    /// By claim: the line that predicts it, 0 for none (join by id).
    seen: Vec<usize>,
    /// Ids that nothing has confirmed, with their lines.
    ids: Vec<(ClaimId<'static>, usize)>,
    blind: usize,
}

impl Book {
    fn enter<T>(&mut self, outcome: Outcome<T>, file: &PredictionFile<'_>) -> Option<T> {
        match outcome {
            Outcome::Joined { value, line, id, claim } => {
                self.read.joined += 1;
                self.blind += usize::from(claim.is_some());
                self.read.own_gold += usize::from(claim.is_none() && file.gold.is_some());
                if let Some(seen) = claim.and_then(|claim| self.seen.get_mut(claim)) {
                    if *seen > 0 {
                        let what = format!("the claim is already predicted in line {seen}");
                        let id = claim.and_then(|claim| file.gold?.id(claim)).map(ToString::to_string);
                        let fault = InputFault::new(file.path, what).at_line(line).of_case(id.unwrap_or_default());
                        self.faults.push(fault.hint("keep one of the two lines"));
                    }
                    *seen = line;
                }
                self.ids.extend(id.map(|id| (id, line)));
                Some(value)
            }
            Outcome::Unknown(fault) => {
                self.read.unknown += 1;
                if self.read.unknown <= WARNINGS_KEPT {
                    self.read.warnings.push(fault);
                }
                None
            }
            Outcome::Raised(raised) => {
                self.read.raised.get_or_insert(raised);
                self.blind += 1;
                None
            }
            Outcome::Faults(faults) => {
                self.faults.extend(faults);
                None
            }
        }
    }

    fn close(mut self, file: &PredictionFile<'_>) -> Result<PredictionsRead> {
        if !self.faults.is_empty() {
            return Err(Error::Input(self.faults));
        }
        if let Some(gold) = file.gold.filter(|_| file.join == Join::Order && self.blind > 0) {
            // Predictions beyond the last claim are counted in `blind` and not in `joined`.
            let lines = self.read.own_gold + self.blind;
            if lines != gold.len() {
                if file.mode == Mode::Compat {
                    self.read.raised.get_or_insert(Raised::Assertion);
                } else {
                    let claims = format!("{} holds {} claims", gold.path().display(), gold.len());
                    let fault = InputFault::new(file.path, format!("{lines} predictions, but {claims}"));
                    return Err(fault.hint("give one line a claim in the same order, or use --join id").into());
                }
            }
        }
        if self.read.joined == 0 && self.read.raised.is_none() && file.mode == Mode::Default {
            let what = if self.read.unknown > 0 { "no prediction has the id of a claim" } else { "no prediction" };
            return Err(InputFault::new(file.path, what).into());
        }
        self.read.missing = (0..self.seen.len()).filter(|claim| self.seen[*claim] == 0).collect();
        self.warn_of_equal_ids(file);
        Ok(self.read)
    }

    fn warn_of_equal_ids(&mut self, file: &PredictionFile<'_>) {
        self.ids.par_sort_unstable();
        let twice = self.ids.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let warning = |pair: &[(ClaimId<'static>, usize)]| {
            let what = format!("the id is already predicted in line {}", pair[0].1);
            InputFault::new(file.path, what).at_line(pair[1].1).of_case(pair[0].0.to_string())
        };
        self.read.warnings.extend(twice.map(warning).take(WARNINGS_KEPT));
    }
}

#[cfg(test)]
mod tests;
