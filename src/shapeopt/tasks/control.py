"""Trajectory optimisation by direct shooting (eqs. control_dynamics, control_obj): q is the stacked controls."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from ..core import REACH, Box
from .base import AbstractFamily, AbstractTask, StartLaw, cube, draw_start, require_dimension, require_law
from .plants import AbstractPlant, DoubleIntegrator, Navigation, Pendulum
from .reference import best_descent

START_RADII = (2.6, 3.2)  # around the optimum; reproduces the paper's baseline rows on the double integrator
REFERENCE_ITERATIONS = 120
NAMES: dict[type[AbstractPlant], str] = {
    DoubleIntegrator: "double_integrator",
    Pendulum: "pendulum",
    Navigation: "navigation",
}


class ControlTask(AbstractTask):
    """f_tau(q) = Phi(x_T) + sum_t l(x_t) + lambda_u sum_t |u_t|^2 along x_{t+1} = phi(x_t, u_t) (eq. control_obj).

    Departs from the paper: distance is |q - q*| to the (best-known) optimal controls, not a terminal proxy.
    """

    plant: AbstractPlant
    minimum: Float[Array, ""]
    minimiser: Float[Array, " d"]
    law: StartLaw = eqx.field(static=True)

    def __call__(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return trajectory_cost(self.plant, q)

    @property
    def box(self) -> Box:
        return cube(self.minimiser.shape[-1], REACH, self.minimiser.dtype)

    @property
    def descriptor(self) -> Float[Array, " k"]:
        """All parameters of the plant: its start, its target, its weights and prices."""
        return ravel_pytree(self.plant)[0]

    def start(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        return draw_start(key, self.law, self.minimiser, REACH, START_RADII)

    def distance(self, q: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.linalg.norm(q - self.minimiser)


def trajectory_cost(plant: AbstractPlant, q: Float[Array, " d"]) -> Float[Array, ""]:
    """eq. control_obj by one forward pass."""

    def forward(x, u):
        return plant.step(x, u), plant.stage(x)  # eq. control_dynamics

    last, stages = jax.lax.scan(forward, plant.x0, q.reshape(-1, plant.control_size))
    return plant.terminal(last) + jnp.sum(stages) + plant.lambda_u * jnp.sum(q**2)  # eq. control_obj


class Control(AbstractFamily):
    """Trajectory problems on one plant, with controls in [-5, 5].

    Where the problem is quadratic the optimum comes from a linear solve; elsewhere from `reference_starts` Newton
    descents that begin at random controls while the task is drawn.

    Departs from the paper: the plants' parameters (see `plants`).
    """

    dimension: int = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)
    plant: type[AbstractPlant] = eqx.field(static=True, default=DoubleIntegrator)
    reference_starts: int = eqx.field(static=True, default=16)

    def __check_init__(self) -> None:
        require_dimension(self.dimension)
        require_law(self.law)
        if self.plant not in NAMES:
            raise ValueError(f"`plant` must be one of {[p.__name__ for p in NAMES]}; got {self.plant!r}.")
        if self.dimension % self.plant.control_size:
            size = self.plant.control_size
            raise ValueError(f"`dimension` must be a multiple of {size} on this plant; got {self.dimension}.")
        if not self.reference_starts >= 1:
            raise ValueError(f"`reference_starts` must be at least 1; got {self.reference_starts}.")

    @property
    def name(self) -> str:
        return NAMES[self.plant]

    @property
    def minimum_source(self) -> str:
        if self.plant.quadratic:
            return "exact: the objective is a convex quadratic of the controls, solved as a linear system"
        return f"best known: the best of {self.reference_starts} Newton descents from random controls"

    def sample(self, key: PRNGKeyArray) -> ControlTask:
        key_plant, key_starts = jax.random.split(key)
        plant = self.plant.sample(key_plant, self.dimension // self.plant.control_size)
        fun = jax.tree_util.Partial(trajectory_cost, plant)
        if self.plant.quadratic:
            origin = jnp.zeros(self.dimension, plant.x0.dtype)
            minimiser = -jnp.linalg.solve(jax.hessian(fun)(origin), jax.grad(fun)(origin))
            return ControlTask(plant=plant, minimum=fun(minimiser), minimiser=minimiser, law=self.law)
        shape = (self.reference_starts, self.dimension)
        starts = jax.random.uniform(key_starts, shape, plant.x0.dtype, -REACH, REACH)
        minimiser, minimum = best_descent(fun, starts, REACH, REFERENCE_ITERATIONS)
        return ControlTask(plant=plant, minimum=minimum, minimiser=minimiser, law=self.law)
