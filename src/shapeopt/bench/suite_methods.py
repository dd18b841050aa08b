"""The methods that are run on a suite if none are named."""

from ..peers import PEERS, available
from .suites.base import Suite

JUDGED = "universal"
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
SPECIALISTS = {"nist": ("least_squares",)}
QUICK = {
    True: ("multistart_scaled", "bfgs", "mlsl_scaled", "basinhopping"),
    False: ("multistart_scaled", "bobyqa", "direct", "bipop_cma"),
}


def default_methods(suite: Suite, quick: bool = False) -> tuple[str, ...]:
    """The judged policy and the peers for what most of the suite's problems give, as far as they are installed."""
    gradients = 2 * sum(problem.gradients for problem in suite.problems) >= len(suite.problems)
    peers = QUICK[gradients] if quick else (WITH_GRADIENTS if gradients else BY_VALUES)
    wanted = (*peers, *(() if quick else SPECIALISTS.get(suite.name, ())))
    return (JUDGED, *(name for name in wanted if name in PEERS and available(PEERS[name].package)))
