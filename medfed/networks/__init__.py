"""Networks: a name and JSON arguments in, a module out."""
