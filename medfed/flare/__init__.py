"""NVFlare adapters: the only classes a job names."""
