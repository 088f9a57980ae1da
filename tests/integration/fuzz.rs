//! Files and replies that others wrote, damaged on purpose: nothing may panic, hang or take a huge amount of memory, and
//! what is read all the same is in range.
//!
//! Each target begins with the files of `tests/fixtures/fuzz/TARGET` and reads mutations of them, made from seeds. `cargo
//! test` reads the same fifty every time; `SCHOLAREVAL_FUZZ_SECONDS=60 cargo test --test integration fuzz::` reads new
//! ones for so long, and `SCHOLAREVAL_FUZZ_SEED` begins with the seed that a failure named.

mod driver;
mod files;
mod mutation;
mod replies;
