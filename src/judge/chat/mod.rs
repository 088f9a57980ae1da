//! Chat completions over an OpenAI-compatible endpoint.
