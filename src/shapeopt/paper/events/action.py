"""The stage action a_s (eqs. shape_stage_action, outer_policy_action): what the planner fixes until the next event."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int

from ...core import Mode


class StageAction(eqx.Module):
    """a_s = (mode, anchor, alpha_J, alpha_R, kappa, horizon), held while the stage runs.

    Departs from the paper: the logits behind the mode travel with it, so that losses can reach them.
    """

    mode: Int[Array, ""]  # a core.Mode
    anchor: Float[Array, " d"]
    alpha_J: Float[Array, ""]
    alpha_R: Float[Array, ""]
    kappa: Float[Array, ""]
    horizon: Int[Array, ""]
    mode_logits: Float[Array, " modes"]

    @property
    def mode_probabilities(self) -> Float[Array, " modes"]:
        return jax.nn.softmax(self.mode_logits)

    @property
    def mode_weights(self) -> Float[Array, " modes"]:
        """One-hot of the mode, with the derivative of the probabilities (a straight-through estimate)."""
        soft = self.mode_probabilities
        hard = jax.nn.one_hot(self.mode, len(Mode), dtype=soft.dtype)
        return hard + (soft - jax.lax.stop_gradient(soft))
