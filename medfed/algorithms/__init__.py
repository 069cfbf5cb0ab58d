"""Algorithms: tensors in, tensors out. Knows no file, no network, no NVFlare."""
