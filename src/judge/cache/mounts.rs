//! Which file system a path is on, from the text of `/proc/self/mountinfo` (Linux, `man 5 proc_pid_mountinfo`).
//!
//! SQLite's write-ahead log needs memory shared between processes and working locks; file systems of other machines
//! give neither, and a cache there can be damaged without a word.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// File system types that are reached over a network or through another machine's kernel.
const NETWORK_TYPES: [&str; 19] = [
    "9p",
    "acfs",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.glusterfs",
    "fuse.sshfs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "panfs",
    "smb3",
    "smbfs",
    "wekafs",
];

/// The network file system `path` is on, as its type's name; `None` if it is on none.
///
/// `path` is absolute and free of symbolic links. The mount with the longest mount point that is a prefix of `path`
/// counts; of several on one point the last, which hides the others. Lines of another shape are passed over.
pub(crate) fn network_file_system(mountinfo: &str, path: &Path) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for (point, kind) in mountinfo.lines().filter_map(parse_line) {
        let depth = point.components().count();
        if path.starts_with(&point) && best.is_none_or(|(deepest, _)| depth >= deepest) {
            best = Some((depth, kind));
        }
    }
    best.map(|(_, kind)| kind).filter(|kind| NETWORK_TYPES.contains(kind)).map(str::to_owned)
}

/// Mount point and file system type of one line.
fn parse_line(line: &str) -> Option<(PathBuf, &str)> {
    let (mount, device) = line.split_once(" - ")?;
    let point = mount.split(' ').nth(4)?;
    let kind = device.split(' ').next()?;
    Some((unescape(point), kind))
}

/// The kernel writes space, tab, newline and backslash as `\` and three octal digits.
fn unescape(point: &str) -> PathBuf {
    let mut text = String::with_capacity(point.len());
    let mut rest = point;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits {
            Some(byte) => {
                text.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                text.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    text.push_str(rest);
    PathBuf::from(text)
}

/// `path` made absolute, with the symbolic links of the part that exists resolved.
pub(crate) fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(real) = existing.canonicalize() {
            return Ok(missing.into_iter().rev().fold(real, |joined, name| joined.join(name)));
        }
        match (existing.parent(), existing.components().next_back()) {
            (Some(parent), Some(Component::Normal(name))) => {
                missing.push(name.to_owned());
                existing = parent;
            }
            _ => return Ok(absolute),
        }
    }
}

/// The network file system the (possibly not yet existing) file is on; `None` where the system has no mount table.
pub(crate) fn network_file_system_of(path: &Path) -> Option<String> {
    let mountinfo = std::fs::read("/proc/self/mountinfo").ok()?;
    network_file_system(&String::from_utf8_lossy(&mountinfo), &resolve(path).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
31 30 0:41 / /home/me/local rw - xfs /dev/vdb rw
32 27 0:42 / /scratch rw master:2 propagate_from:3 - lustre mds@tcp:/scratch rw
33 27 0:43 / /with\\040space rw - cifs //server/share rw
34 27 0:44 / /over rw - nfs server:/x rw
35 34 0:45 / /over rw - tmpfs tmpfs rw
a line of another shape
";

    fn found(path: &str) -> Option<String> {
        network_file_system(TABLE, Path::new(path))
    }

    #[test]
    fn the_longest_mount_point_decides() {
        assert_eq!(found("/var/x.sqlite"), None);
        assert_eq!(found("/home/me/x.sqlite").as_deref(), Some("nfs4"));
        assert_eq!(found("/home/me/local/x.sqlite"), None);
        assert_eq!(found("/scratch/run/x.sqlite").as_deref(), Some("lustre"));
    }

    #[test]
    fn a_mount_point_is_matched_by_whole_names() {
        // `/homes` begins with the letters of `/home` but lies on the root file system.
        assert_eq!(found("/homes/x.sqlite"), None);
    }

    #[test]
    fn escaped_characters_of_a_mount_point_are_read() {
        assert_eq!(found("/with space/x.sqlite").as_deref(), Some("cifs"));
        assert_eq!(unescape("a\\134b\\zc"), PathBuf::from("a\\b\\zc"));
    }

    #[test]
    fn of_two_mounts_on_one_point_the_later_counts() {
        assert_eq!(found("/over/x.sqlite"), None);
    }

    #[test]
    fn an_empty_table_refuses_nothing() {
        assert_eq!(network_file_system("", Path::new("/x")), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_of_the_part_that_exists_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(resolve(&link.join("new/x.sqlite")).unwrap(), real.join("new/x.sqlite"));
    }
}
