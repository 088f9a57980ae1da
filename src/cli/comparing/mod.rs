//! Recorded runs put side by side, for `compare` and `report`: read ([`load_runs`]), refused or marked where they are no
//! equals ([`comparable`]), told who judged them ([`made_by`]), and handed on as what a comparison is made from ([`answers_of`]).

mod alike;
mod facets;
mod load;

pub(in crate::cli) use alike::{comparable, lacking_unknown_answers, made_by};
pub(in crate::cli) use load::{answers_of, load_runs};
