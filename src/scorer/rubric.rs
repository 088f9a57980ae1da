//! The ScholarQA-CS rubric score.
