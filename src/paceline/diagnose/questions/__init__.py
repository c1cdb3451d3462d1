"""Questions: each a module with NAME, CODES and `ask(case)`; they do not know each other."""
