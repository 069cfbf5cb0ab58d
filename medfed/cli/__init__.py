"""Command line: one thin file a verb; parses before it imports anything heavy."""
