"""Plan in, trace out, for real: what runs inside a training worker.

What a worker imports stays small: torch comes in only where it is used.
"""
