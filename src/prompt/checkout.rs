//! Which commit a checkout stands at, read from its `.git` without running anything.

use std::fs;
use std::path::{Path, PathBuf};

/// The commit of `HEAD`, 40 hexadecimal digits; `None` where `dir` is no checkout or it cannot be told.
pub(super) fn head_commit(dir: &Path) -> Option<String> {
    let git = git_dir(dir)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => fs::read_to_string(git.join(name))
            .map(|text| text.trim().to_owned())
            .ok()
            .or_else(|| packed(&fs::read_to_string(git.join("packed-refs")).ok()?, name))?,
    };
    (commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(commit)
}

/// `.git` is a directory, or a file that names one.
fn git_dir(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    Some(dir.join(text.trim().strip_prefix("gitdir: ")?))
}

fn packed(refs: &str, name: &str) -> Option<String> {
    refs.lines()
        .find_map(|line| line.split_once(' ').filter(|(_, of)| *of == name).map(|(commit, _)| commit.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn the_commit_is_found_detached_on_a_branch_and_packed() {
        let branch = "ref: refs/heads/main\n";
        let packed = format!("# pack-refs with: peeled\n{COMMIT} refs/heads/main\n");
        for files in [
            vec![(".git/HEAD", COMMIT)],
            vec![(".git/HEAD", branch), (".git/refs/heads/main", COMMIT)],
            vec![(".git/HEAD", branch), (".git/packed-refs", packed.as_str())],
            vec![(".git", "gitdir: elsewhere\n"), ("elsewhere/HEAD", COMMIT)],
        ] {
            assert_eq!(head_commit(checkout(&files).path()).as_deref(), Some(COMMIT), "{files:?}");
        }
    }

    #[test]
    fn what_is_no_checkout_has_no_commit() {
        assert_eq!(head_commit(checkout(&[]).path()), None);
        assert_eq!(head_commit(checkout(&[(".git/HEAD", "nonsense")]).path()), None);
    }
}
