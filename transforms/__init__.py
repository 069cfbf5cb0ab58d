"""Transforms: files in, arrays ready for a network out."""
