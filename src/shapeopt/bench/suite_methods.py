"""The methods that are run on a suite if none are named."""

from ..peers import PEERS, available
from .suites.base import Suite

JUDGED = "universal"
FITS = "universal_fit"  # the same by `shapeopt.least_squares`, which sees the residuals
WITH_GRADIENTS = (
    "multistart",
    "multistart_scaled",
    "bfgs",
    "bfgs_scaled",
    "slsqp_scaled",
    "mlsl_scaled",
    "tiktak_scaled",
    "basinhopping",
    "basinhopping_wide",
    "dual_annealing_scaled",
    "shgo_scaled",
    "direct",
    "bipop_cma",
)
BY_VALUES = (
    "multistart_scaled",
    "cobyqa_scaled",
    "bobyqa",
    "nelder_mead_scaled",
    "mlsl_bobyqa",
    "tiktak_bobyqa",
    "dual_annealing_scaled",
    "shgo_scaled",
    "direct",
    "direct_unbiased",
    "ipop_cma",
    "bipop_cma",
    "differential_evolution",
    "tpe",
    "ngopt",
)
SPECIALISTS = {"nist": (FITS, "least_squares")}
QUICK = {
    True: ("multistart_scaled", "bfgs", "mlsl_scaled", "basinhopping"),
    False: ("multistart_scaled", "bobyqa", "direct", "bipop_cma"),
}


def default_methods(suite: Suite, quick: bool = False) -> tuple[str, ...]:
    """The judged policy and the peers for what the suite's problems give, as far as they are installed."""
    kinds = sorted({problem.gradients for problem in suite.problems}, reverse=True)
    table = QUICK if quick else {True: WITH_GRADIENTS, False: BY_VALUES}
    wanted = [name for gradients in kinds for name in table[gradients]]
    wanted += [] if quick else SPECIALISTS.get(suite.name.partition("-")[0], ())
    there = (name for name in dict.fromkeys(wanted) if name == FITS or available(PEERS[name].package))
    return (JUDGED, *there)
