"""Report: the run folder's records in, tables, figures and one HTML file out."""
