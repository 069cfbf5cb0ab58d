"""Data: a site's files in, cases in the job's vocabulary out."""
