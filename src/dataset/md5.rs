//! The MD5 digest (RFC 1321), for ids that published files already carry. Not for secrets.

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The digest as 32 hexadecimal digits.
pub(super) fn md5_hex(message: &[u8]) -> String {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64).wrapping_mul(8).to_le_bytes());
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let after = round(state, block);
        for (word, add) in state.iter_mut().zip(after) {
            *word = word.wrapping_add(add);
        }
    }
    state.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect()
}

fn round(state: [u32; 4], block: &[u8]) -> [u32; 4] {
    let word =
        |at: usize| block[4 * at..4 * at + 4].iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let [mut a, mut b, mut c, mut d] = state;
    for step in 0..64_usize {
        let (mixed, at) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        // RFC 1321: floor(2^32 * |sin(step + 1)|).
        let constant = (4_294_967_296.0 * ((step + 1) as f64).sin().abs()) as u32;
        let sum = a.wrapping_add(mixed).wrapping_add(constant).wrapping_add(word(at));
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_suite_of_rfc_1321_holds() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5_hex(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        let digits = "1234567890".repeat(8);
        assert_eq!(md5_hex(digits.as_bytes()), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
