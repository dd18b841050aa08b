"""`shapeopt.least_squares`: what it counts, what it finds, and what it does with residuals that misbehave."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import shapeopt
from shapeopt.bench.suites.nist import NIST
from shapeopt.oracles import JournalError

T = np.arange(8.0)
TRUTH = np.array([2.5, 0.4])


class Decay:
    """Residuals of an exponential decay, which count their own calls and remember where they were made."""

    def __init__(self, shift=0.0):
        self.y = TRUTH[0] * np.exp(-TRUTH[1] * T) + shift * np.cos(3 * T)
        self.calls = 0
        self.places = []

    def __call__(self, b):
        self.calls += 1
        self.places.append(b.copy())
        with np.errstate(all="ignore"):
            return b[0] * np.exp(-b[1] * T) - self.y

    def jacobian(self, b):
        with np.errstate(all="ignore"):
            decay = np.exp(-b[1] * T)
            return np.stack([decay, -b[0] * T * decay], axis=1)

    def both(self, b):
        return self(b), self.jacobian(b)


def sines(seed):
    """Residuals and Jacobian of two sines of unknown amplitude and frequency: many minima."""
    t = np.linspace(0, 6, 50)
    truth = np.array([1.5, 3.0, -1.0, 7.5])
    model = lambda x: x[0] * np.sin(x[1] * t) + x[2] * np.sin(x[3] * t)  # noqa: E731
    y = model(truth) + 0.01 * np.random.default_rng(seed).normal(size=t.size)

    def jacobian(x):
        first, second = t * np.cos(x[1] * t), t * np.cos(x[3] * t)
        return np.stack([np.sin(x[1] * t), x[0] * first, np.sin(x[3] * t), x[2] * second], axis=1)

    return lambda x: model(x) - y, jacobian


# ---------------------------------------------------------------------------------------------------- the count


@pytest.mark.parametrize(
    ("jac", "unit"), [("callable", 1), (True, 1), (None, 3), ("2-point", 3), ("3-point", 5)], ids=str
)
@pytest.mark.parametrize("budget", [1, 7, 50])
def test_every_evaluation_is_counted_and_none_passes_the_budget(jac, unit, budget):
    decay = Decay()
    fun, slopes = (decay.both if jac is True else decay), (decay.jacobian if jac == "callable" else jac)
    result = shapeopt.least_squares(fun, [1.0, 1.0], slopes, budget=budget)
    whole = budget // unit
    assert result.nfev == decay.calls == max(whole * unit, 1)  # the value at x0 where no reading fits
    assert result.cost < np.inf and result.success
    assert result.njev == whole


@pytest.mark.parametrize("jac", ["2-point", None])
def test_residuals_in_single_precision_get_steps_that_rise_above_their_round_off(jac):
    decay = Decay()
    result = shapeopt.least_squares(lambda b: decay(b).astype(np.float32), [1.0, 1.0], jac, budget=90)
    np.testing.assert_allclose(result.x, TRUTH, rtol=1e-4)


def test_a_sparse_jacobian_is_taken():
    decay = Decay()
    slopes = lambda b: scipy.sparse.csr_array(decay.jacobian(b))  # noqa: E731
    result = shapeopt.least_squares(decay, [1.0, 1.0], slopes, budget=40)
    np.testing.assert_allclose(result.x, TRUTH, rtol=1e-8)


@pytest.mark.parametrize(
    ("residuals", "message"),
    [
        (lambda b: None, "`residuals` must return a vector of real numbers; got None"),
        (lambda b: b + 1j, "`residuals` must return a vector of real numbers; got array"),
        (lambda b: (b, np.eye(2)), "got a pair, .*: residuals that come with their Jacobian need `jac=True`"),
    ],
)
def test_an_answer_that_is_no_vector_is_named(residuals, message):
    with pytest.raises(ValueError, match=message):
        shapeopt.least_squares(residuals, [1.0, 1.0], budget=9)


@pytest.mark.parametrize(
    ("limit", "status"), [({"target": 1e-6}, 4), ({"tol": 1e-8}, 5), ({"confidence": 0.5}, 6)], ids=str
)
def test_a_fit_ends_early_by_its_cost(limit, status):
    decay = Decay()
    result = shapeopt.least_squares(decay, [1.0, 1.0], decay.jacobian, (0, 5), budget=400, **limit)
    assert result.status == status and result.nfev == decay.calls < 400 and result.cost <= 1e-6


def test_a_wrong_jacobian_is_said_and_a_right_one_is_not_accused():
    residuals, jacobian = sines(1)
    start, bounds = [1.0, 2.0, -0.5, 6.0], (-12.0, 12.0)
    right = shapeopt.least_squares(residuals, start, jacobian, bounds, budget=120)
    wrong = shapeopt.least_squares(residuals, start, lambda x: -jacobian(x), bounds, budget=120)
    assert right.gradient_fit.agrees and "agree" not in right.message
    assert not wrong.gradient_fit.agrees and "does not agree" in wrong.message


def test_jax_residuals_are_differentiated_and_a_reading_is_one_call():
    jnp = pytest.importorskip("jax.numpy")
    y = Decay().y
    result = shapeopt.least_squares(lambda b: b[0] * jnp.exp(-b[1] * T) - y, [1.0, 1.0], budget=20)
    assert result.nfev == result.njev == 20
    np.testing.assert_allclose(result.x, TRUTH, rtol=1e-8)
    np.testing.assert_allclose(result.jac, Decay().jacobian(result.x), rtol=1e-12)


def test_residuals_that_name_jax_but_cannot_be_traced_are_read_by_differences():
    jnp = pytest.importorskip("jax.numpy")
    decay = Decay()

    def residuals(b):
        return decay(np.asarray(b, float)) if float(b[0]) > -1e9 else jnp.zeros(8)

    result = shapeopt.least_squares(residuals, [1.0, 1.0], budget=31)
    np.testing.assert_allclose(result.x, TRUTH, rtol=1e-6)
    assert result.nfev <= 31 and result.njev == 10


# -------------------------------------------------------------------------------------------------- the result


def test_fields_are_those_of_scipy_and_agree_with_it():
    decay = Decay(shift=0.3)
    ours = shapeopt.least_squares(decay, [1.0, 1.0], decay.jacobian, budget=60)
    theirs = scipy.optimize.least_squares(decay, [1.0, 1.0], decay.jacobian, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    assert isinstance(ours, scipy.optimize.OptimizeResult)
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-6)
    np.testing.assert_allclose(ours.cost, theirs.cost, rtol=1e-10)
    np.testing.assert_allclose(ours.fun, theirs.fun, atol=1e-6)
    np.testing.assert_allclose(ours.jac, theirs.jac, atol=1e-6)
    np.testing.assert_allclose(ours.grad, ours.jac.T @ ours.fun)
    assert ours.optimality < 1e-6 and not ours.active_mask.any() and ours.success
    assert ours.minima[0].cost == ours.cost and ours.trace.best[-1] == ours.cost
    assert {event.tactic for event in ours.events} >= {"start", "gauss_newton"}


def test_the_ledger_closes():
    energy = shapeopt.least_squares(Decay(0.3), [1.0, 1.0], "3-point", ((0, 0), (2, 1)), budget=300).energy
    terms = sum(energy[term] for term in energy if term != "delta_H")
    np.testing.assert_allclose(terms, energy.delta_H, atol=1e-9)
    assert (energy.dissipation <= 0).all()


def test_active_bounds_are_found_and_never_left():
    decay = Decay()
    result = shapeopt.least_squares(decay, [1.0, 0.9], "2-point", ([0, 0.5], [2, 1]), budget=150)
    places = np.array(decay.places)
    assert (places >= [0, 0.5]).all() and (places <= [2, 1]).all()
    theirs = scipy.optimize.least_squares(Decay(), [1.0, 0.9], bounds=([0, 0.5], [2, 1]), xtol=1e-12, gtol=1e-12)
    np.testing.assert_allclose(result.cost, theirs.cost, rtol=1e-6)
    assert result.active_mask[1] == -1 and result.optimality < 1e-5


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_a_robust_loss_means_what_scipy_means(loss):
    decay = Decay()
    decay.y[3] += 4.0  # an outlier
    settings = {"loss": loss, "f_scale": 0.1}
    ours = shapeopt.least_squares(decay, [2.0, 0.5], decay.jacobian, budget=200, **settings)
    theirs = scipy.optimize.least_squares(decay, TRUTH, decay.jacobian, xtol=1e-14, ftol=1e-14, gtol=1e-12, **settings)
    np.testing.assert_allclose(ours.cost, theirs.cost, rtol=1e-8)
    np.testing.assert_allclose(ours.x, TRUTH, rtol=0.05)
    plain = shapeopt.least_squares(decay, [2.0, 0.5], decay.jacobian, budget=200)
    assert abs(plain.x / TRUTH - 1.0).max() > 0.05  # where the robust fit is within that


def test_further_arguments_are_passed_on():
    residuals = lambda b, t, power=1.0: b[0] * t**power - 6.0 * t**2  # noqa: E731
    jacobian = lambda b, t, power=1.0: (t**power)[:, None]  # noqa: E731
    result = shapeopt.least_squares(residuals, 1.0, jacobian, args=(T,), kwargs={"power": 2.0}, budget=10)
    np.testing.assert_allclose(result.x, [6.0])


# ---------------------------------------------------------------------------------------------- hard residuals


def test_a_jacobian_without_full_rank_is_no_obstacle():
    residuals = lambda x: np.array([x[0] + x[1] - 3.0, 2 * (x[0] + x[1]) - 6.0, x[2] ** 2 - 4.0])  # noqa: E731
    jacobian = lambda x: np.array([[1, 1, 0, 0], [2, 2, 0, 0], [0, 0, 2 * x[2], 0]])  # noqa: E731
    result = shapeopt.least_squares(residuals, np.ones(4), jacobian, budget=60)
    assert result.cost < 1e-20 and np.isfinite(result.trace.value).all()


def test_fewer_residuals_than_coordinates_are_solved():
    result = shapeopt.least_squares(lambda x: [x @ x - 1.0], np.full(5, 2.0), lambda x: 2 * x, budget=40)
    assert result.cost < 1e-20


@pytest.mark.parametrize("kind", ["nan", "inf", "raise"])
def test_trials_where_residuals_fail_cost_their_call_and_no_more(kind):
    """The first Gauss-Newton step from 1.0 leads past 2, where nothing is defined."""

    def residuals(x):
        if x[0] > 2.0:
            if kind == "raise":
                raise FloatingPointError("outside")
            return np.full(2, {"nan": np.nan, "inf": np.inf}[kind])
        return np.array([np.sqrt(2.0 - x[0]) - 0.1, 0.0])

    jacobian = lambda x: np.array([[-0.5 / np.sqrt(max(2.0 - x[0], 1e-12))], [0.0]])  # noqa: E731
    result = shapeopt.least_squares(residuals, [1.0], jacobian, budget=40, on_error="skip")
    assert result.nfev == 40 and not np.isfinite(result.trace.value).all()
    np.testing.assert_allclose(result.x, [1.99], rtol=1e-8)
    assert result.cost < 1e-16


def test_an_exception_passes_with_the_result_so_far():
    decay = Decay()

    def residuals(b):
        if decay.calls == 9:
            raise KeyError("gone")
        return decay(b)

    with pytest.raises(KeyError, match="gone") as caught:
        shapeopt.least_squares(residuals, [1.0, 1.0], decay.jacobian, budget=40)
    so_far = caught.value.shapeopt_result
    assert so_far.trace.calls.size == 9 and so_far.cost < 1.0


def test_nothing_finite_at_all_is_said():
    result = shapeopt.least_squares(lambda x: np.full(3, np.nan), [1.0, 2.0], budget=10)
    assert not result.success and result.fun is None and result.nfev == 9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"jac": "cs"}, "`jac`"),
        ({"loss": "square"}, "`loss`"),
        ({"f_scale": 0.0}, "`f_scale`"),
        ({"x_scale": [1.0, -1.0]}, "`x_scale`"),
        ({"x0": np.ones((2, 2))}, "`x0`"),
        ({"on_error": "ignore"}, "`on_error`"),
        ({"seed": 0.5}, "`seed`"),
        ({"budget": 0}, "`budget`"),
        ({"jac": lambda b: np.ones((3, 2))}, "`jac`"),
    ],
)
def test_a_wrong_argument_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        shapeopt.least_squares(Decay(), **({"x0": [1.0, 1.0]} | given))


def test_residuals_must_keep_their_number():
    lengths = iter([3, 3, 4, 4])
    with pytest.raises(ValueError, match="as many"):
        shapeopt.least_squares(lambda x: np.ones(next(lengths)), [1.0, 1.0], budget=20)


# --------------------------------------------------------------------------------------------- the search


def test_restarts_find_the_best_of_several_minima():
    """From this start SciPy's descent ends in a worse minimum; the truth leaves a cost of the noise, below 0.005."""
    residuals, jacobian = sines(0)
    x0, sides = np.array([0.5, 5.0, 0.5, 11.0]), ([-2, 0.5, -2, 0.5], [2, 12, 2, 12])
    alone = scipy.optimize.least_squares(residuals, x0, jacobian, sides, x_scale="jac")
    result = shapeopt.least_squares(residuals, x0, jacobian, sides, budget=400, seed=1)
    assert alone.cost > 1.0 and result.cost < 0.005
    assert len(result.minima) > 2 and result.minima[1].cost > result.cost


@pytest.mark.parametrize("name", ["misra1a", "lanczos2", "hahn1", "enso", "thurber", "rat42", "eckerle4"])
def test_certified_values_are_reached_from_the_far_start(name):
    one = NIST.problem(f"{name}/start1").make()
    result = shapeopt.least_squares(one.residuals, one.x0, one.jacobian, budget=500)
    assert 2 * result.cost <= one.minimum * (1 + 1e-6)


def test_units_of_x_change_no_decision():
    """Bounded: the same trace; without bounds: Gauss-Newton steps are the same from where units are told."""
    residuals, jacobian = sines(3)
    x0, lower, upper = np.array([0.5, 5.0, 0.5, 11.0]), np.array([-2, 0.5, -2, 0.5]), np.array([2.0, 12, 2, 12])
    units, shift = 10.0 ** np.array([-6, 6, 3, -2]), np.array([0.0, 1e5, -3e3, 0.5])
    plain = shapeopt.least_squares(residuals, x0, jacobian, (lower, upper), budget=60)
    other = shapeopt.least_squares(
        lambda z: residuals((z - shift) / units),
        units * x0 + shift,
        lambda z: jacobian((z - shift) / units) / units,
        (units * lower + shift, units * upper + shift),
        budget=60,
    )
    assert [(e.call, e.tactic, e.cause) for e in plain.events] == [(e.call, e.tactic, e.cause) for e in other.events]
    np.testing.assert_allclose(plain.trace.value, other.trace.value, rtol=1e-3)


def test_given_units_make_runs_without_bounds_the_same():
    decay, units = Decay(0.2), np.array([1e-5, 1e4])
    plain = shapeopt.least_squares(decay, [1.0, 1.0], decay.jacobian, x_scale=[1.0, 1.0], budget=12)
    scaled = shapeopt.least_squares(
        lambda z: decay(z / units), units, lambda z: decay.jacobian(z / units) / units, x_scale=units, budget=12
    )
    np.testing.assert_allclose(plain.trace.value, scaled.trace.value, rtol=1e-6)


def test_the_same_seed_gives_the_same_bytes():
    residuals, jacobian = sines(5)
    runs = [
        shapeopt.least_squares(residuals, np.ones(4), jacobian, (-12.0, 12.0), budget=120, seed=7) for _ in range(2)
    ]
    assert runs[0].trace.x.tobytes() == runs[1].trace.x.tobytes()


def test_several_starts_share_the_budget():
    residuals, jacobian = sines(5)
    result = shapeopt.least_squares(residuals, np.ones(4), jacobian, (-12.0, 12.0), budget=90, num_starts=3)
    assert result.nfev == 90


def test_a_callback_sees_the_cost_and_may_stop():
    decay, seen = Decay(), []

    def watch(progress):
        seen.append(progress.cost)
        return progress.nfev == 6

    result = shapeopt.least_squares(decay, [1.0, 1.0], decay.jacobian, budget=50, callback=watch)
    assert result.nfev == 6 and seen[-1] == result.cost and result.success


# ------------------------------------------------------------------------------------------------ the journal


@pytest.mark.parametrize("jac", ["callable", None, "3-point"])
def test_a_run_that_was_cut_short_ends_with_the_same_bytes(tmp_path, jac):
    decay = Decay(0.3)
    slopes = decay.jacobian if jac == "callable" else jac
    settings = {"jac": slopes, "budget": 60, "seed": 3, "loss": "soft_l1"}
    whole = shapeopt.least_squares(decay, [1.0, 1.0], **settings)
    spent = decay.calls

    class Killed(BaseException):
        pass

    def cut(b):
        if decay.calls == spent + 25:
            raise Killed
        return decay(b)

    cut.__qualname__ = again = "fit"
    with pytest.raises(Killed):
        shapeopt.least_squares(cut, [1.0, 1.0], journal=tmp_path / "run", **settings)
    resumed = lambda b: decay(b)  # noqa: E731
    resumed.__qualname__ = again
    result = shapeopt.least_squares(resumed, [1.0, 1.0], journal=tmp_path / "run", **settings)
    assert decay.calls == 2 * spent  # 25 were answered from the file
    assert result.trace.x.tobytes() == whole.trace.x.tobytes()
    assert result.fun.tobytes() == whole.fun.tobytes() and result.jac.tobytes() == whole.jac.tobytes()
    with pytest.raises(JournalError, match="f_scale"):
        shapeopt.least_squares(resumed, [1.0, 1.0], journal=tmp_path / "run", f_scale=2.0, **settings)


def test_a_fit_prints_on_one_screen():
    fit = shapeopt.least_squares(lambda b: b[0] * np.linspace(0, 1, 500) - b[1], [3.0, 3.0], budget=40)
    lines = str(fit).splitlines()
    assert len(lines) < 20 and max(map(len, lines)) <= 100
    assert f"cost: {fit.cost}" in str(fit) and f"minima: {len(fit.minima)}: {fit.minima[0].cost:.6g}" in str(fit)
