"""Privacy: what may leave a site, what it costs, and the record of what left."""
