"""Jobs: typed functions in, NVFlare jobs out."""
