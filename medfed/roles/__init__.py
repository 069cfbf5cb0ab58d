"""Roles: per method one site and one server, talking through a Channel."""
