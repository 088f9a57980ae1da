//! Archives for tests, also for those of other crates of the project (feature `testing`).
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};

use rawzip::CompressionMethod;

/// An archive of these members; the list gives the length and checksum of the third text.
pub fn zipped(members: &[(&str, CompressionMethod, &str, &str)]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let mut out = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, method, text, listed) in members {
        let (mut entry, config) = archive
            .new_file(*name)
            .compression_method(*method)
            .start()
            .unwrap();
        let mut list = config.wrap(std::io::sink());
        list.write_all(listed.as_bytes()).unwrap();
        let mut packed = Vec::new();
        match *method {
            CompressionMethod::DEFLATE => {
                let mut encoder = flate2::bufread::DeflateEncoder::new(
                    text.as_bytes(),
                    flate2::Compression::fast(),
                );
                encoder.read_to_end(&mut packed).unwrap();
            }
            CompressionMethod::ZSTD => {
                packed = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
            }
            _ => packed.extend(text.as_bytes()),
        }
        entry.write_all(&packed).unwrap();
        entry.finish(list.finish().unwrap().1).unwrap();
    }
    archive.finish().unwrap();
    out
}
