"""Small closed vocabularies that compiled code carries as integers and people read as words."""

from enum import IntEnum


class Mode(IntEnum):
    """The stage mode mu_s of eq. outer_policy_action."""

    SETTLE = 0
    REFINE = 1
    ESCAPE = 2


class Cause(IntEnum):
    """Why a stage ended (Algorithm alg:streaming_shape_compact, line "event trigger"); NONE: it goes on.

        CLOCK       its horizon was reached             CONVERGED  a bottom was reached
        STALL       no step decreases f                 HOPELESS   the basin can't beat the best one
        REVISIT     the basin is known                  BUDGET     the run ended
        NONFINITE   no finite value to go on from       DONE       the tactic's script came to its end
        REJECTED    a test refuted what it looked for   PREEMPTED  another tactic has something better

    Departs from the paper: it has the clock, convergence, stall and budget only.
    """

    NONE = 0
    CLOCK = 1
    CONVERGED = 2
    STALL = 3
    HOPELESS = 4
    REVISIT = 5
    BUDGET = 6
    NONFINITE = 7
    DONE = 8
    REJECTED = 9
    PREEMPTED = 10


class Status(IntEnum):
    """How a run ended; `OptimizeResult.status`."""

    BUDGET_SPENT = 0
    STOPPED_BY_CALLBACK = 1
    NO_FINITE_VALUE = 2
    FAILED = 3
    TARGET_REACHED = 4
    SETTLED = 5
    CONFIDENT = 6
    INFEASIBLE = 10  # of runs with constraints alone


STATUS_MESSAGES = {
    Status.BUDGET_SPENT: "The budget of calls is spent; the best point seen is returned.",
    Status.STOPPED_BY_CALLBACK: "The callback asked to stop; the best point seen is returned.",
    Status.NO_FINITE_VALUE: "No finite value was seen within the budget.",
    Status.FAILED: "The objective raised; the best point seen until then is attached.",
    Status.TARGET_REACHED: "The target is reached; the best point seen is returned.",
    Status.SETTLED: (
        "The best value fell by no more than `tol` in the second half of the calls; the best point seen is returned."
    ),
    Status.CONFIDENT: "A better basin is unlikely enough (`confidence`); the best point seen is returned.",
    Status.INFEASIBLE: "No point that was seen meets the constraints; the one with the least violation is returned.",
}

# Ends of a run as it was meant to be.
REGULAR = (
    Status.BUDGET_SPENT,
    Status.STOPPED_BY_CALLBACK,
    Status.TARGET_REACHED,
    Status.SETTLED,
    Status.CONFIDENT,
)
