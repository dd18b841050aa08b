"""Phase retrieval (eq. phase_retrieval_obj): recover a signal, up to its sign, from squared measurements."""

import enum

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..core import REACH, Box
from .base import AbstractFamily, AbstractTask, StartLaw, cube, draw_start, on_sphere, require_dimension, require_law
from .reference import newton_descent

SIGNAL_NORM = 1.2  # with START_RADII, what reproduces the paper's baseline rows
START_RADII = (2.57, 3.17)
POLISH_ITERATIONS = 40


class Sensing(enum.Enum):
    """How the rows of A are made: independent N(0, 1/n) entries, or masks of random signs before a fixed transform."""

    GAUSSIAN = "gaussian"
    CODED = "coded"


class PhaseRetrievalTask(AbstractTask):
    """f_tau(x) = mean_i (<a_i, x>^2 - b_i)^2 + lambda_x / 2 |x|^2 (eq. phase_retrieval_obj).

    Departs from the paper: nothing.
    """

    A: Float[Array, "m n"]
    b: Float[Array, " m"]
    minimum: Float[Array, ""]
    minimiser: Float[Array, " n"]
    lambda_x: float = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True)

    def __call__(self, q: Float[Array, " n"]) -> Float[Array, ""]:
        return _misfit(self.A, self.b, self.lambda_x, q)

    def minibatch(self, q: Float[Array, " n"], indices: Int[Array, " k"]) -> Float[Array, ""]:
        """The objective over the measurements `indices` alone: unbiased where each is equally likely."""
        return _misfit(self.A[indices], self.b[indices], self.lambda_x, q)

    @property
    def box(self) -> Box:
        return cube(self.A.shape[-1], REACH, self.A.dtype)

    def start(self, key: PRNGKeyArray) -> Float[Array, " n"]:
        """PAPER: at a radius in START_RADII from the origin; NEAR: around the signal; BOX: anywhere."""
        centre = jnp.zeros_like(self.minimiser) if self.law is StartLaw.PAPER else self.minimiser
        return draw_start(key, self.law, centre, REACH, START_RADII)

    def distance(self, q: Float[Array, " n"]) -> Float[Array, ""]:
        """Distance to the nearer of the minimiser and its negative."""
        return jnp.minimum(jnp.linalg.norm(q - self.minimiser), jnp.linalg.norm(q + self.minimiser))


def _misfit(A: Float[Array, "m n"], b: Float[Array, " m"], lambda_x: float, x: Float[Array, " n"]) -> Float[Array, ""]:
    return jnp.mean(((A @ x) ** 2 - b) ** 2) + 0.5 * lambda_x * jnp.sum(x**2)  # eq. phase_retrieval_obj


class PhaseRetrieval(AbstractFamily):
    """Signals of norm 1.2 seen through `oversampling` x n squared measurements with N(0, noise^2) errors.

    CODED sensing uses `oversampling` random sign masks, each followed by the Hartley transform; as few as two masks can
    leave ambiguities beyond the sign, four rarely do.

    Departs from the paper: its coded patterns are unspecified; the real orthogonal Hartley transform keeps A real.
    """

    dimension: int = eqx.field(static=True)
    law: StartLaw = eqx.field(static=True, default=StartLaw.BOX)
    sensing: Sensing = eqx.field(static=True, default=Sensing.GAUSSIAN)
    oversampling: int = eqx.field(static=True, default=2)
    noise: float = eqx.field(static=True, default=0.0)
    lambda_x: float = eqx.field(static=True, default=0.0)

    def __check_init__(self) -> None:
        require_dimension(self.dimension, least=2)
        require_law(self.law)
        if not isinstance(self.sensing, Sensing):
            raise ValueError(f"`sensing` must be one of {', '.join(map(str, Sensing))}; got {self.sensing!r}.")
        if not self.oversampling >= 1:
            raise ValueError(f"`oversampling` must be at least 1; got {self.oversampling}.")
        if not self.noise >= 0:
            raise ValueError(f"`noise` must not be negative; got {self.noise}.")
        if not self.lambda_x >= 0:
            raise ValueError(f"`lambda_x` must not be negative; got {self.lambda_x}.")

    @property
    def name(self) -> str:
        return "phase_retrieval" if self.sensing is Sensing.GAUSSIAN else "coded_diffraction"

    @property
    def minimum_source(self) -> str:
        if self.noise == 0 and self.lambda_x == 0:
            return "exact: the misfit is non-negative and vanishes at the signal"
        return "best known: damped Newton descent from the signal"

    def sample(self, key: PRNGKeyArray) -> PhaseRetrievalTask:
        key_A, key_signal, key_noise = jax.random.split(key, 3)
        A = self._sensing_matrix(key_A)
        signal = SIGNAL_NORM * on_sphere(key_signal, self.dimension)
        b = (A @ signal) ** 2 + self.noise * jax.random.normal(key_noise, (A.shape[0],))
        minimiser, minimum = signal, jnp.zeros((), A.dtype)
        if self.noise > 0 or self.lambda_x > 0:
            fun = jax.tree_util.Partial(_misfit, A, b, self.lambda_x)
            minimiser, minimum = newton_descent(fun, signal, REACH, POLISH_ITERATIONS)
        return PhaseRetrievalTask(A=A, b=b, minimum=minimum, minimiser=minimiser, lambda_x=self.lambda_x, law=self.law)

    def _sensing_matrix(self, key: PRNGKeyArray) -> Float[Array, "m n"]:
        n = self.dimension
        if self.sensing is Sensing.GAUSSIAN:
            return jax.random.normal(key, (self.oversampling * n, n)) / n**0.5
        masks = jax.random.rademacher(key, (self.oversampling, 1, n), float)
        return (hartley(n, masks.dtype) * masks).reshape(-1, n)


def hartley(n: int, dtype: jax.typing.DTypeLike) -> Float[Array, "n n"]:
    """The orthogonal, symmetric matrix (cos + sin)(2 pi j k / n) / sqrt(n)."""
    angle = 2 * np.pi * (np.outer(np.arange(n), np.arange(n)) % n) / n
    return jnp.asarray((np.cos(angle) + np.sin(angle)) / n**0.5, dtype)
