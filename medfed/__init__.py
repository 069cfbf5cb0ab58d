"""Federated medical imaging on MONAI, run as NVFlare jobs."""

__version__ = "0.1.0"
