//! Files to domain: test cases, answers, and how they are paired.
