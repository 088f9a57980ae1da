//! Pure renderers of a summary: table, JSON, CSV.
