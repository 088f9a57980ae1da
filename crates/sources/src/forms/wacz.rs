//! WACZ: a zip archive with WARC files below `archive/`, as browsers' crawlers and archiveweb.page write it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipFileHeaderRecord};

use super::warc::read_warc;
use super::{FormCandidate, SourceForm};
use crate::sink::Sink;
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::streams::{damaged, unpacked};
use scholareval_core::files::{SMALL_ARCHIVE, UNPACKED_TIMES};

pub(super) static WACZ: SourceForm = SourceForm {
    name: "a web archive (.wacz)",
    fits,
    read,
};

fn fits(candidate: &FormCandidate<'_>) -> bool {
    candidate.members.iter().any(|name| is_warc(name))
}

fn is_warc(name: &str) -> bool {
    name.starts_with("archive/") && (name.ends_with(".warc") || name.ends_with(".warc.gz"))
}

fn read(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive =
        ZipArchive::from_file(file, &mut buffer).map_err(|error| damaged(path, &error))?;
    let mut members = Vec::new();
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries
        .next_entry()
        .map_err(|error| damaged(path, &error))?
    {
        let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
        if is_warc(&name) {
            check_size(path, &name, &entry)?;
            members.push((
                name,
                entry.wayfinder(),
                entry.compression_method(),
                entry.uncompressed_size_hint(),
            ));
        }
    }
    for (name, wayfinder, method, entry_bytes) in members {
        let member = path.join(&name);
        let entry = archive
            .get_entry(wayfinder)
            .map_err(|error| damaged(path, &error))?;
        let packed = entry.reader();
        // What it states was checked; it may be longer than it states.
        let stream: Box<dyn Read> = match method {
            CompressionMethod::STORE => Box::new(packed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed).take(entry_bytes)),
            other => {
                let what = format!("packed with {other}, not stored or deflated");
                return Err(InputFault::new(&member, what).into());
            }
        };
        let mut stream = unpacked(stream).map_err(Error::io(&member, "read"))?;
        read_warc(&mut stream, &member, sink)?;
    }
    Ok(())
}

/// Refuses a member that states to unpack to far more than itself.
fn check_size(path: &Path, name: &str, entry: &ZipFileHeaderRecord<'_>) -> Result<(), InputFault> {
    let packed = entry.compressed_size_hint();
    let limit = SMALL_ARCHIVE.saturating_add(packed.saturating_mul(UNPACKED_TIMES));
    if entry.uncompressed_size_hint() <= limit {
        return Ok(());
    }
    let what = format!("unpacks to more than {UNPACKED_TIMES} times its size");
    Err(InputFault::new(path.join(name), what).hint("check where the file is from"))
}
