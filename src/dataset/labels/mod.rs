//! Labels: ratings and preferences of people (and other judges) on answers, from files of scores, of preferences, or of
//! pairs that hold both.

mod collector;
mod load;
mod row;
mod shapes;

pub use collector::Labels;
pub use load::{load_labels, parse_labels};

#[cfg(test)]
mod tests;
