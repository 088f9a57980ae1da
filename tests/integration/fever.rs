//! FEVER: the reference's numbers, the real predictions, and the command line.

mod command;
mod golden;
