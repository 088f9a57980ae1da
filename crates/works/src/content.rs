//! What files of works hold, as one hash: other files are another setting of a run, also with as many records.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use scholareval_core::domain::Fingerprint;
use scholareval_core::error::{Error, Result};

use super::dumps::WorksFile;
use super::index::files_of_index;
use super::scan::WorksDump;

/// The bytes of all files up to which they are hashed as a whole. Reading 10 GB twice would double the time of a look-up.
const WHOLE_BYTES: u64 = 256 << 20;

/// Parts that are hashed of longer files, together: the beginning and the end of each, and more at equal distances.
const PARTS: u64 = 1024;

/// The length of a part. The end of a gzip file has the checksum of its content.
const PART_BYTES: u64 = 16 << 10;

/// The hash of these files, whatever their names and order. An index is known by the files that were read into it.
///
/// # Errors
/// When one cannot be read.
pub(super) fn content_hash(dumps: &[WorksDump], indexes: &[PathBuf]) -> Result<Fingerprint> {
    let files: Vec<&WorksFile> = dumps.iter().flat_map(|dump| &dump.files).collect();
    let total: u64 = files.iter().map(|file| file.bytes).sum();
    let parts = (PARTS / files.len().max(1) as u64).max(2);
    let mut hashes: Vec<Vec<u8>> = Vec::new();
    for file in files {
        let hashed = if total <= WHOLE_BYTES {
            hash_of(file, 1, file.bytes)
        } else {
            hash_of(file, parts, PART_BYTES)
        };
        let hash = hashed.map_err(Error::io(&file.path, "read"))?;
        hashes.push(hash.as_bytes().to_vec());
    }
    for index in indexes {
        hashes.extend(files_of_index(index)?);
    }
    hashes.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for hash in &hashes {
        hasher.update(hash);
    }
    Ok(hasher.finalize().into())
}

/// The hash of the size of a file and of parts of it, the first and the last included.
pub(super) fn hash_of(file: &WorksFile, parts: u64, part_bytes: u64) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&file.bytes.to_le_bytes());
    let mut opened = File::open(&file.path)?;
    let last = file.bytes.saturating_sub(part_bytes);
    for part in 0..parts {
        let start = u128::from(last) * u128::from(part) / u128::from((parts - 1).max(1));
        opened.seek(SeekFrom::Start(start as u64))?;
        hasher.update_reader((&mut opened).take(part_bytes))?;
    }
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &std::path::Path, name: &str, bytes: &[u8]) -> WorksFile {
        let path = dir.join(name);
        std::fs::write(&path, bytes).unwrap();
        WorksFile {
            path,
            bytes: bytes.len() as u64,
        }
    }

    #[test]
    fn files_are_known_by_what_they_hold() {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = vec![7; 3 << 20];
        let one = file(dir.path(), "one.jsonl", &bytes);
        let same = file(dir.path(), "same.jsonl", &bytes);
        bytes[1 << 20] = 8;
        let other = file(dir.path(), "other.jsonl", &bytes);
        let hash = |files: &[&WorksFile]| {
            let files = files.iter().map(|file| (*file).clone()).collect();
            let path = dir.path().to_path_buf();
            content_hash(&[WorksDump { path, files }], &[]).unwrap()
        };
        assert_eq!(hash(&[&one]), hash(&[&same]));
        assert_ne!(hash(&[&one]), hash(&[&other]));
        assert_eq!(hash(&[&one, &other]), hash(&[&other, &one]));
        assert_ne!(hash(&[&one, &other]), hash(&[&one]));
    }

    #[test]
    fn long_files_are_known_by_parts_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = vec![7; 1 << 16];
        let one = file(dir.path(), "one.jsonl", &bytes);
        let hash = |file: &WorksFile| hash_of(file, 3, 1 << 10).unwrap();
        // Parts begin at 0, 31.5 KiB and 63 KiB.
        for (at, is_seen) in [
            (0, true),
            (16 << 10, false),
            (32 << 10, true),
            ((1 << 16) - 1, true),
        ] {
            let mut changed = bytes.clone();
            changed[at] = 8;
            let other = file(dir.path(), "other.jsonl", &changed);
            assert_eq!(hash(&one) != hash(&other), is_seen, "{at}");
        }
        let longer = file(dir.path(), "longer.jsonl", &vec![7; (1 << 16) + 1]);
        assert_ne!(hash(&one), hash(&longer));
    }
}
