//! Reading and pairing real and made files.
