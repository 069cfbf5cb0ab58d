"""Puts stand-in roles in a method's place, in every process that has this folder on its path.

They behave on request (environment variable MEDFED_STAND_IN, JSON), so that transport and faults
are tested without training anything.
"""

import json
import os
import sys
import types

if "MEDFED_STAND_IN" in os.environ:
    registry = types.ModuleType("medfed.roles.registry")

    def _load(name):
        if name.startswith("__"):
            raise AttributeError(name)
        import medfed_stand_in

        return getattr(medfed_stand_in, name)

    registry.__getattr__ = _load
    sys.modules["medfed.roles.registry"] = registry

    data = types.ModuleType("medfed.data")
    data.Site = type(
        "Site", (), {"read": classmethod(lambda cls, path: json.loads(path.read_text()))}
    )
    sys.modules["medfed.data"] = data
