//! The persistent reply cache (SQLite).
