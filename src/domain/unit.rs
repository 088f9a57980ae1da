//! What a number is.

use serde::{Deserialize, Serialize};

/// What the numbers of a quantity are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 0..=1, shown as per cent.
    Share,
    /// 1..=5, shown with two decimals.
    Grade,
    /// A count an item, shown with one decimal.
    Count,
}
