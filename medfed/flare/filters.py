"""A site's own NVFlare filters, applied to what does not travel as a task result.

NVFlare filters task results only. Replies to auxiliary messages pass these here, so that a scope
in a site's privacy.json holds on every path out.
"""

from nvflare.apis.fl_constant import FilterKey, FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.apis.utils.task_utils import apply_filters
from nvflare.private.privacy_manager import PrivacyService, Scope

__all__ = ["outgoing"]


def outgoing(shareable: Shareable, topic: str, fl_ctx: FLContext) -> Shareable:
    """What may leave of a reply: the site's scope first, then the job's filters for this topic.

    The simulator reads privacy.json but does not put the scope into the context; it is looked up
    here.
    """
    if fl_ctx.get_prop(FLContextKey.SCOPE_OBJECT) is None:
        fl_ctx.set_prop(
            FLContextKey.SCOPE_OBJECT, PrivacyService.get_scope(""), private=True, sticky=False
        )
    runner = fl_ctx.get_prop(FLContextKey.RUNNER)
    of_job = getattr(runner, "task_result_filters", None) or {}
    return apply_filters(
        Scope.TASK_RESULT_FILTERS_NAME, shareable, fl_ctx, of_job, topic, FilterKey.OUT
    )
