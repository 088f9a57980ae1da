"""Adapters for evaluation and training programs; each imports its program when it is used, not before."""
