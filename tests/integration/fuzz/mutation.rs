//! Mutations of files: bytes, numbers, values and pieces of other files.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Longer inputs are cut.
const LONGEST: usize = 64 << 10;

/// What stands where a number stood.
const NUMBERS: [&[u8]; 16] = [
    b"0",
    b"-0",
    b"-1",
    b"11",
    b"0.1",
    b"1e999",
    b"-1e999",
    b"1e-999",
    b"5e-324",
    b"1.7976931348623157e308",
    b"NaN",
    b"-Infinity",
    b"9223372036854775808",
    b"18446744073709551616",
    b"007",
    b"1_0",
];

/// What stands where a value stood, or anywhere.
const PIECES: [&[u8]; 44] = [
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xc3",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b"\r\n\r\n",
    b",",
    b";",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"</think>",
    b"<think>",
    b"```",
    b"data: ",
    b"data: [DONE]\n\n",
    b"[RESULT]",
    b"\xef\xbb\xbf",
    b"\xe2\x80\x8b",
    b"\xf0\x9f\x98\x80",
    b"e\xcc\x81",
    b"=1+1",
    b"../",
    b"%",
    b"{{",
    b"{%",
    b"'''",
    b"\\N{",
    b"[1]",
    b"(Smith et al., 2020)",
    b"$ref",
    b"\x1b[31m",
];

/// The input of a seed: a file of the corpus after some mutations.
pub(super) fn mutated(corpus: &[(String, Vec<u8>)], seed: u64) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut input = corpus[random.random_range(0..corpus.len())].1.clone();
    for _ in 0..1_usize << random.random_range(0..4) {
        let other = &corpus[random.random_range(0..corpus.len())].1;
        mutate(&mut input, other, &mut random);
        input.truncate(LONGEST);
    }
    input
}

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut ChaCha8Rng) {
    let at = random.random_range(0..=input.len());
    let short = (at + random.random_range(0..64)).min(input.len());
    let piece = PIECES[random.random_range(0..PIECES.len())];
    match random.random_range(0..10) {
        0 if at < input.len() => input[at] ^= 1 << random.random_range(0..8),
        1 => input.truncate(at),
        2 => drop(input.drain(at..short)),
        3 => {
            let copy = input[at..short].to_vec();
            let times = 1_usize << random.random_range(0..10);
            input.splice(at..at, copy.repeat(times));
        }
        4 => {
            // brackets within brackets, closed or not
            let deep = 1_usize << random.random_range(4..14);
            let (open, close): (&[u8], &[u8]) = if random.random() {
                (b"[", b"]")
            } else {
                (b"{\"a\":", b"}")
            };
            let closed = if random.random() {
                close.repeat(deep)
            } else {
                Vec::new()
            };
            input.splice(at..at, [open.repeat(deep), b"0".to_vec(), closed].concat());
        }
        5 => {
            let from = random.random_range(0..=other.len());
            let to = (from + random.random_range(0..512)).min(other.len());
            input.splice(at..short, other[from..to].iter().copied());
        }
        6 | 7 => {
            let number = NUMBERS[random.random_range(0..NUMBERS.len())];
            replace_run(input, at, number, |byte| {
                byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+')
            });
        }
        8 => replace_run(input, at, piece, |byte| {
            !matches!(byte, b',' | b':' | b'}' | b']' | b'\n')
        }),
        _ => drop(input.splice(at..at, piece.iter().copied())),
    }
}

/// Replaces the next run of such bytes.
fn replace_run(input: &mut Vec<u8>, at: usize, with: &[u8], is_part: impl Fn(u8) -> bool) {
    let Some(start) = input[at..]
        .iter()
        .position(|byte| is_part(*byte))
        .map(|start| at + start)
    else {
        return;
    };
    let end = input[start..]
        .iter()
        .position(|byte| !is_part(*byte))
        .map_or(input.len(), |end| start + end);
    input.splice(start..end, with.iter().copied());
}
