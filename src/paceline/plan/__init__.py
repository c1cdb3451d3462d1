"""How many workers, on which machines, over which overlay: the fastest plan, with a certificate.

`best` plans, `check` recomputes what a plan claims (with code of its own), `routes` says which
links its messages travel, `fit` finds n_crit from recorded gradient norms.
"""

from paceline.plan.best import best
from paceline.plan.check import check
from paceline.plan.facts import facts
from paceline.plan.fit import n_crit as fit
from paceline.plan.overlays import OVERLAYS
from paceline.plan.routes import routes

__all__ = ["OVERLAYS", "best", "check", "facts", "fit", "routes"]
