"""Controlled systems of the `control` family (eq. control_dynamics).

Every plant runs for a fixed time, split into as many steps as the decision vector has controls. The running cost
l(x, u) of eq. control_obj depends on x alone here; the control's own price is its lambda_u term.
"""

import abc
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

NUM_OBSTACLES = 3
State = Float[Array, " n"]
Input = Float[Array, " m"]


class AbstractPlant(eqx.Module):
    """A system with its start, its target and its price of control.

    `quadratic` says whether the objective is a quadratic of the controls, so that a linear solve minimises it.
    """

    control_size: eqx.AbstractClassVar[int]
    quadratic: eqx.AbstractClassVar[bool]
    x0: eqx.AbstractVar[State]
    lambda_u: eqx.AbstractVar[Float[Array, ""]]

    @classmethod
    @abc.abstractmethod
    def sample(cls, key: PRNGKeyArray, horizon: int) -> Self:
        """Draw a plant whose `horizon` steps fill its running time."""

    @abc.abstractmethod
    def step(self, x: State, u: Input) -> State:
        """phi(x, u)."""

    @abc.abstractmethod
    def stage(self, x: State) -> Float[Array, ""]:
        """The running cost l(x)."""

    @abc.abstractmethod
    def terminal(self, x: State) -> Float[Array, ""]:
        """The terminal cost Phi(x)."""


def _uniform(key: PRNGKeyArray, *ranges: tuple[float, float]) -> Float[Array, " k"]:
    """One number from each range."""
    low, high = (jnp.array(side) for side in zip(*ranges, strict=True))
    return low + (high - low) * jax.random.uniform(key, (len(ranges),))


class DoubleIntegrator(AbstractPlant):
    """A mass on a line, pushed to rest at a target: state (position, velocity), exact for constant pushes.

    Departs from the paper: it gives no parameters; those of `sample` are narrow enough that the optimal controls lie
    inside the box.
    """

    control_size = 1
    quadratic = True

    x0: State
    lambda_u: Float[Array, ""]
    target: State
    weight_stage: Float[Array, ""]
    weight_terminal: Float[Array, ""]
    dt: float = eqx.field(static=True)

    @classmethod
    def sample(cls, key: PRNGKeyArray, horizon: int) -> Self:
        ranges = ((-1.5, 1.5), (-0.7, 0.7), (-0.5, 0.5), (0.2, 1.0), (5.0, 15.0), (0.05, 0.2))
        position, velocity, goal, stage, terminal, lambda_u = _uniform(key, *ranges)
        dt = 4.0 / horizon
        target = jnp.stack([goal, jnp.zeros_like(goal)])
        return cls(jnp.stack([position, velocity]), lambda_u, target, stage * dt, terminal, dt)

    def step(self, x: State, u: Input) -> State:
        push = jnp.stack([0.5 * self.dt**2 * u[0], self.dt * u[0]])
        return jnp.stack([x[0] + self.dt * x[1], x[1]]) + push

    def stage(self, x: State) -> Float[Array, ""]:
        return self.weight_stage * jnp.sum((x - self.target) ** 2)

    def terminal(self, x: State) -> Float[Array, ""]:
        return self.weight_terminal * jnp.sum((x - self.target) ** 2)


class Pendulum(AbstractPlant):
    """A pendulum swung up from rest by a torque too weak to lift it at once: state (angle from hanging, rate).

    Semi-implicit Euler steps; the costs are 1 + cos(angle), 0 at the top, and at the end also the square of the rate.

    Departs from the paper: it gives no equations or parameters; both were chosen here.
    """

    control_size = 1
    quadratic = False

    x0: State
    lambda_u: Float[Array, ""]
    gravity: Float[Array, ""]
    friction: Float[Array, ""]
    weight_stage: Float[Array, ""]
    weight_terminal: Float[Array, ""]
    dt: float = eqx.field(static=True)

    @classmethod
    def sample(cls, key: PRNGKeyArray, horizon: int) -> Self:
        ranges = ((-0.3, 0.3), (-0.3, 0.3), (5.5, 8.0), (0.0, 0.1), (0.2, 1.0), (5.0, 15.0), (0.02, 0.05))
        angle, rate, gravity, friction, stage, terminal, lambda_u = _uniform(key, *ranges)
        dt = 2.5 / horizon
        return cls(jnp.stack([angle, rate]), lambda_u, gravity, friction, stage * dt, terminal, dt)

    def step(self, x: State, u: Input) -> State:
        rate = x[1] + self.dt * (u[0] - self.gravity * jnp.sin(x[0]) - self.friction * x[1])
        return jnp.stack([x[0] + self.dt * rate, rate])

    def stage(self, x: State) -> Float[Array, ""]:
        return self.weight_stage * (1 + jnp.cos(x[0]))

    def terminal(self, x: State) -> Float[Array, ""]:
        return self.weight_terminal * (1 + jnp.cos(x[0]) + 0.05 * x[1] ** 2)


class Navigation(AbstractPlant):
    """A point steered by its velocity across the plane, past smooth obstacles, to a goal.

    Departs from the paper: it gives no layout; this one has three Gaussian hills between start and goal.
    """

    control_size = 2
    quadratic = False

    x0: State
    lambda_u: Float[Array, ""]
    goal: State
    weight_terminal: Float[Array, ""]
    centres: Float[Array, "k 2"]
    heights: Float[Array, " k"]
    widths: Float[Array, " k"]
    dt: float = eqx.field(static=True)

    @classmethod
    def sample(cls, key: PRNGKeyArray, horizon: int) -> Self:
        key_ends, key_hills = jax.random.split(key)
        ends = _uniform(key_ends, (-3.5, -2.5), (-1.0, 1.0), (2.5, 3.5), (-1.0, 1.0), (5.0, 15.0), (0.01, 0.05))
        hill = ((-1.5, 1.5), (-1.0, 1.0), (5.0, 15.0), (0.5, 0.9))
        hills = jax.vmap(lambda k: _uniform(k, *hill))(jax.random.split(key_hills, NUM_OBSTACLES))
        dt = 2.0 / horizon
        return cls(ends[:2], ends[5], ends[2:4], ends[4], hills[:, :2], hills[:, 2] * dt, hills[:, 3], dt)

    def step(self, x: State, u: Input) -> State:
        return x + self.dt * u

    def _hills(self, x: State) -> Float[Array, " k"]:
        return self.heights * jnp.exp(-0.5 * jnp.sum((x - self.centres) ** 2, axis=-1) / self.widths**2)

    def stage(self, x: State) -> Float[Array, ""]:
        return jnp.sum(self._hills(x))

    def terminal(self, x: State) -> Float[Array, ""]:
        return self.weight_terminal * jnp.sum((x - self.goal) ** 2)
