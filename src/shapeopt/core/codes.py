"""Small closed vocabularies that compiled code carries as integers and people read as words."""

from enum import IntEnum


class Mode(IntEnum):
    """The stage mode mu_s of eq. outer_policy_action."""

    SETTLE = 0
    REFINE = 1
    ESCAPE = 2


class Cause(IntEnum):
    """Why a stage ended (Algorithm alg:streaming_shape_compact, line "event trigger").

    Departs from the paper: HOPELESS and REVISIT leave a basin before it is refined; the paper only has the clock,
    convergence, stall and budget.
    """

    NONE = 0
    CLOCK = 1
    CONVERGED = 2
    STALL = 3
    HOPELESS = 4
    REVISIT = 5
    BUDGET = 6
    NONFINITE = 7


class Status(IntEnum):
    """How a run ended; `OptimizeResult.status`."""

    BUDGET_SPENT = 0
    STOPPED_BY_CALLBACK = 1
    NO_FINITE_VALUE = 2
    FAILED = 3
    INFEASIBLE = 10  # of runs with constraints alone


STATUS_MESSAGES = {
    Status.BUDGET_SPENT: "The budget of oracle calls is spent; the best point seen is returned.",
    Status.STOPPED_BY_CALLBACK: "The callback asked to stop; the best point seen is returned.",
    Status.NO_FINITE_VALUE: "No finite value was seen within the budget.",
    Status.FAILED: "The objective raised; the best point seen until then is attached.",
    Status.INFEASIBLE: "No point that was seen meets the constraints; the one with the least violation is returned.",
}
