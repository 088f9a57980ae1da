//! Identifiers of HAL.

/// Names of the archives of HAL in running text.
const HAL_NAMES: [&str; 2] = ["hal", "halshs"];

/// Digits of an id of HAL.
const HAL_DIGITS: usize = 8;

/// The id of HAL with which a text begins, without version.
pub(super) fn hal_id(text: &str) -> Option<&str> {
    let id = hal_id_of_any_archive(text)?;
    HAL_NAMES.contains(&id.split('-').next()?).then_some(id)
}

/// The same for the names of all archives (`tel-00000001`, `inria-00000001`), which only an address at HAL makes sure.
pub(super) fn hal_id_of_any_archive(text: &str) -> Option<&str> {
    let name = text.bytes().take_while(u8::is_ascii_lowercase).count();
    let number = text[name..].strip_prefix(['-', '_'])?;
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    (name > 1 && digits == HAL_DIGITS).then(|| &text[..name + 1 + HAL_DIGITS])
}
