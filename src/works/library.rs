//! A library of the user's as references: BibTeX, CSL-JSON, RIS.
