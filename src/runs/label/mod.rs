//! Labels by people: which answers they label, what of them, who labels which, and what raters read.
//!
//! [`label_round`] draws answers of runs (`draw`), takes what people can label of them (`units`), deals it to raters (`deal`) and
//! gives a [`LabelRound`]: the sheet with the key to everything, and the texts, from which `report` makes the pages.
//! [`disputes`] finds the items on which raters differ, for a page on which they are settled.

mod adjudicate;
mod asked_units;
mod deal;
mod draw;
mod labeled_texts;
mod names;
mod round;
mod scales;
mod texts;
mod unblind;
pub(super) mod units;

pub use adjudicate::{Dispute, DisputedLabel, disputes};
pub(super) use asked_units::criteria_levels;
pub use draw::{LabelCandidate, LabelCandidates};
pub use names::{mentions, plain_name};
pub use round::{LabelOptions, LabelRound, label_round};
pub(super) use unblind::{Unblinded, is_label_file, unblind};
