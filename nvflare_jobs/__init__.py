"""NVFlare jobs: a job.toml in, an NVFlare job or a finished run folder out.

Recipes make jobs, environments run them on one machine. NVFlare is imported inside functions, since
importing nvflare.recipe takes seconds and strips --export from `sys.argv`.
"""
