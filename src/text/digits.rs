//! Decimal digits as Python's `\d` and `int()` see them.

/// The zeros of the 66 blocks of ten decimal digits (category `Nd` of Unicode 14, the version of Python 3.11, which
/// the golden numbers were made with).
const ZEROS: [u32; 66] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620,
    0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0,
    0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];

/// The value of a decimal digit of any script, 0..=9: `2` and `２`, not `²` and `Ⅳ`.
pub fn decimal_digit(c: char) -> Option<u8> {
    let code = u32::from(c);
    let block = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let digit = code - ZEROS.get(block)?;
    (digit < 10).then_some(digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_have_their_value() {
        let value = |c| decimal_digit(c);
        assert_eq!(['0', '9', '２', '٣', '𝟗'].map(value), [Some(0), Some(9), Some(2), Some(3), Some(9)]);
        assert_eq!(['/', ':', '²', 'Ⅳ', '½', 'a', '\0'].map(value), [None; 7]);
    }

    #[test]
    fn exactly_the_660_decimal_digits_of_unicode_14_count() {
        assert_eq!(('\0'..=char::MAX).filter(|c| decimal_digit(*c).is_some()).count(), 660);
    }
}
