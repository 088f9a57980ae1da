//! JSON as Python reads it; see `Mode::Compat`.
