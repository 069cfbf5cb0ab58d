"""NVFlare jobs: a job.toml in, an NVFlare job or a finished run folder out.

Recipes make jobs, environments run them on one machine. NVFlare is imported inside functions, since
importing nvflare.recipe takes seconds and strips --export from `sys.argv`.
"""

from medfed.nvflare_jobs.environments import run_poc, run_sim
from medfed.nvflare_jobs.follow import follow_events
from medfed.nvflare_jobs.recipes import export_job, recipe_of

__all__ = ["export_job", "follow_events", "recipe_of", "run_poc", "run_sim"]
