"""Label vocabularies as TOML files."""
