"""Pages: an evaluation in, one self-contained HTML file out.

matplotlib and jinja2 are imported by the functions that need them. A page loads nothing from elsewhere
and runs no script.
"""
