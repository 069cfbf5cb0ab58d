"""Flare: the only classes that an NVFlare job names, and the Channel over NVFlare.

In: questions and answers as NVFlare tasks and auxiliary messages. Out: the same bytes to and from
the roles. Knows NVFlare; holds no method.
"""
