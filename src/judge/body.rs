//! Chat bodies: rendered once to canonical bytes, hashed, sent as they are.
