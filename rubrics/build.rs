//! Gives the library all files of this directory but those of the package itself; also a new one is seen.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=.");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let out = Path::new(&out).join("rubrics");
    // What was removed here must not stay there.
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    copy(Path::new("."), &out)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let to = to.join(&name);
        if is_of_package(&name.to_string_lossy()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Whether a file is part of the package and not of what it holds.
fn is_of_package(name: &str) -> bool {
    name.starts_with("Cargo.")
        || name.starts_with("LICENSE-")
        || name == "NOTICE"
        || name.starts_with('.')
        || name.ends_with(".rs")
        || name == "target"
}
