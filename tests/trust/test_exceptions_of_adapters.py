"""What is thrown through other libraries' interfaces, by programs and by vectorised functions, at each call."""

import os
import signal
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize
from trust_objectives import START, THROWN, Counted, gradient, ripples, value

import shapeopt
from shapeopt.adapters.command import CommandFailed

BUDGET = 14
PAIRS = [(-5, 5)] * 2


def in_scipy(fun, jac):
    options = {"budget": BUDGET}
    return scipy.optimize.minimize(fun, START, jac=jac, bounds=PAIRS, method=shapeopt.scipy_method, options=options)


def hopping(fun, jac):
    local = {"jac": jac, "bounds": PAIRS}
    return shapeopt.basinhopping(fun, START, niter=99, minimizer_kwargs=local, budget=BUDGET)


def constrained(fun, jac):
    line = scipy.optimize.LinearConstraint([[1.0, 1.0]], -9, 9)  # holds at every point that is asked for
    return shapeopt.scipy_method(fun, START, jac=jac, bounds=PAIRS, constraints=line, budget=BUDGET)


def in_torch(fun, jac):
    torch = pytest.importorskip("torch")

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return torch.tensor(fun(x.detach().numpy()), dtype=x.dtype)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, slope):
            return slope * torch.from_numpy(gradient(ctx.saved_tensors[0].numpy()))

    return shapeopt.torch.minimize(Pair.apply, torch.from_numpy(START), bounds=(-5, 5), budget=BUDGET)


PATHS = {
    "scipy": (in_scipy, ripples, True),
    "scipy, two functions": (in_scipy, value, gradient),
    "scipy, values": (in_scipy, value, None),
    "basinhopping": (hopping, ripples, True),
    "basinhopping, values": (hopping, value, None),
    "torch": (in_torch, value, None),
}


@pytest.mark.parametrize("name", PATHS)
def test_through_other_interfaces_it_passes_with_the_best_so_far_and_no_further_call(name):
    run, fun, jac = PATHS[name]
    whole = Counted(fun)
    run(whole, jac)
    assert whole.calls == BUDGET
    for at in range(1, BUDGET + 1):
        for thrown in (THROWN[at % len(THROWN)], KeyboardInterrupt()):
            counted = Counted(fun, lambda n, at=at, thrown=thrown: thrown if n >= at else None)
            with pytest.raises(type(thrown)) as caught:
                run(counted, jac)
            partial = thrown.shapeopt_result
            seen = [value(x) for x in counted.points[: at - 1]]
            assert caught.value is thrown and counted.calls == at == partial.nfev and not partial.success
            assert partial.fun == (min(seen) if seen else np.inf)
            assert not seen or value(np.asarray(partial.x)) == partial.fun


def test_a_run_under_constraints_keeps_its_best_as_well():
    for at in range(2, BUDGET + 1):
        counted = Counted(ripples, lambda n, at=at: OSError("lost") if n >= at else None)
        with pytest.raises(OSError, match="lost") as caught:
            constrained(counted, True)
        assert counted.calls == at
        assert caught.value.shapeopt_result.fun == min(value(x) for x in counted.points[:-1])


def test_a_partial_result_of_torch_holds_tensors():
    torch = pytest.importorskip("torch")
    counted = Counted(value, lambda n: OSError("lost") if n == 5 else None)
    with pytest.raises(OSError, match="lost") as caught:
        in_torch(counted, None)
    assert isinstance(caught.value.shapeopt_result.x, torch.Tensor)


@pytest.mark.parametrize("starts", [1, 3])
@pytest.mark.parametrize("jac", [None, True])
def test_a_vectorised_function_is_not_asked_again(jac, starts):
    asked = []

    def run(at, thrown):
        asked.clear()

        def rows(x):
            if len(asked) + 1 == at:
                asked.append(np.empty((0, 2)))
                raise thrown
            asked.append(np.array(x))
            values, gradients = zip(*map(ripples, np.asarray(x)), strict=True)
            return (np.array(values), np.array(gradients)) if jac else np.array(values)

        return shapeopt.minimize(rows, START, bounds=(-5, 5), jac=jac, budget=BUDGET, batched=True, num_starts=starts)

    whole = run(0, None)
    rounds = len(asked)
    assert whole.nfev == sum(map(len, asked)) and 1 < rounds <= BUDGET
    for at in range(1, rounds + 1):
        for thrown in (THROWN[at % len(THROWN)], KeyboardInterrupt()):
            with pytest.raises(type(thrown)) as caught:
                run(at, thrown)
            seen = [value(x) for part in asked for x in part]
            partial = thrown.shapeopt_result
            assert caught.value is thrown and len(asked) == at and len(seen) <= partial.nfev <= len(seen) + 1
            assert partial.fun == (min(seen) if seen else np.inf)


PROGRAM = """#!{python} -S
import os, sys, time
with open({file!r}, "a") as file:
    print(*sys.argv[1:], file=file)
calls = sum(1 for _ in open({file!r}))
if calls >= {at}:
    {deed}
x = [float(word) for word in sys.argv[1:]]
print(sum(v * v for v in x), *(2 * v for v in x))
"""


def program(folder, at, deed):
    """A program that does `deed` from its call `at` on; where it was called; how it is handed over."""
    path, file = folder / f"program{at}", folder / f"seen{at}"
    path.write_text(PROGRAM.format(python=sys.executable, file=str(file), at=at, deed=deed))
    path.chmod(0o755)

    def points():
        return [[float(word) for word in line.split()] for line in file.read_text().splitlines()]

    def run():
        command = shapeopt.Command(f"{path} {{x}}", gradient=True)
        return shapeopt.minimize(command, START, bounds=(-5, 5), budget=8, jac=True)

    return points, run


def test_a_program_that_fails_is_not_started_again(tmp_path):
    for at in range(1, 9):
        points, run = program(tmp_path, at, "sys.exit(3)")
        with pytest.raises(CommandFailed, match="exit code 3") as caught:
            run()
        seen = points()
        assert len(seen) == at == caught.value.shapeopt_result.nfev
        assert caught.value.shapeopt_result.fun == min((sum(v * v for v in x) for x in seen[:-1]), default=np.inf)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_while_a_program_runs_ends_it_and_keeps_the_best(tmp_path):
    mark = tmp_path / "pid"
    deed = f"open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    points, run = program(tmp_path, 4, deed)

    def interrupt():
        while not (mark.exists() and mark.read_text()):
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = threading.Thread(target=interrupt)
    try:
        watcher.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            run()
    finally:
        watcher.join()
        signal.signal(signal.SIGINT, before)
    assert len(points()) == 4 == caught.value.shapeopt_result.nfev and np.isfinite(caught.value.shapeopt_result.fun)
    assert not Path(f"/proc/{mark.read_text()}").exists()


def test_ask_and_tell_wait_at_the_point_whose_evaluation_failed():
    told = list(np.random.default_rng(0).uniform(size=BUDGET))  # up and down, as no descent would go
    for gradients in (True, False):
        for at in range(1, BUDGET + 1):
            shape = shapeopt.Shape(START, bounds=(-5, 5), budget=BUDGET, gradients=gradients)
            points = []
            for number in told[: at - 1]:
                points.append(shape.ask())
                shape.tell(points[-1], number, gradient(points[-1]) if gradients else None)
            failed = shape.ask()  # and its evaluation throws
            best = min(told[: at - 1], default=np.inf)
            assert shape.best.nfev == at - 1 and shape.best.fun == best
            assert not points or np.array_equal(shape.best.x, points[told.index(best)])
            np.testing.assert_array_equal(shape.ask(), failed)
            shape.tell(failed, np.nan)
            assert shape.best.nfev == at and shape.best.fun == best


def test_a_closure_that_throws_costs_its_call_and_leaves_the_best_at_hand():
    torch = pytest.importorskip("torch")
    for at in range(1, BUDGET + 1):
        thrown = THROWN[at % len(THROWN)]
        x = torch.nn.Parameter(torch.from_numpy(START.copy()))
        optimizer = shapeopt.torch.Shape([x], bounds=(-5, 5), budget=BUDGET)
        counted = Counted(ripples, lambda n, at=at, thrown=thrown: thrown if n >= at else None)

        def closure(x=x, counted=counted):
            f, g = counted(x.detach().numpy())
            x.grad = torch.from_numpy(g)
            return torch.tensor(f, dtype=x.dtype)

        with pytest.raises(type(thrown)) as caught:
            for _ in range(BUDGET):
                optimizer.step(closure)
        seen = [value(point) for point in counted.points[:-1]]
        assert caught.value is thrown and counted.calls == at == optimizer.calls
        assert optimizer.best == (min(seen) if seen else np.inf)
        optimizer.load_best()
        assert not seen or value(x.detach().numpy()) == optimizer.best


def test_closures_that_throw_don_t_stretch_the_budget():
    torch = pytest.importorskip("torch")
    x = torch.nn.Parameter(torch.from_numpy(START.copy()))
    optimizer = shapeopt.torch.Shape([x], bounds=(-5, 5), budget=BUDGET)
    counted = Counted(ripples, lambda n: OSError("lost") if n in (3, 4, BUDGET) else None)

    def closure():
        f, g = counted(x.detach().numpy())
        x.grad = torch.from_numpy(g)
        return torch.tensor(f, dtype=x.dtype)

    for _ in range(BUDGET + 3):
        try:
            optimizer.step(closure)
        except OSError:
            continue
        except shapeopt.oracles.BudgetExhausted:
            break
    assert counted.calls == BUDGET == optimizer.calls
    good = [value(point) for n, point in enumerate(counted.points, 1) if n not in (3, 4, BUDGET)]
    assert value(x.detach().numpy()) == optimizer.best == min(good), "the best is in place"


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::shapeopt.adapters.minibatches.MinibatchWarning")  # the values told are random
def test_optax_s_state_has_the_best_before_an_update_that_never_came():
    optimizer = shapeopt.optax.shape(BUDGET, bounds=(-5, 5))
    x = jnp.asarray(START)
    state, update, points = optimizer.init(x), jax.jit(optimizer.update), []
    told = list(np.random.default_rng(0).uniform(size=BUDGET - 1))
    for i, number in enumerate(told, 1):
        points.append(np.asarray(x))
        updates, state = update(jnp.asarray(gradient(points[-1])), state, x, value=jnp.asarray(number))
        x = optax.apply_updates(x, updates)  # here the loss may throw: what was seen is in the state
        best = min(told[:i])
        assert float(optax.tree_utils.tree_get(state, "best_value")) == best and int(state.calls) == i
        np.testing.assert_array_equal(optax.tree_utils.tree_get(state, "best_params"), points[told.index(best)])


@pytest.mark.parametrize("at", [2, 3, 9])
def test_what_compiled_code_hears_from_the_host_ends_it_with_the_best_value_kept(at):
    calls, values = [], []

    def host(x):
        calls.append(1)
        if len(calls) >= at:
            raise OSError("lost")
        values.append(np.sum(np.asarray(x) ** 2))
        return np.zeros((), x.dtype)

    def fun(x):
        zero = jax.ShapeDtypeStruct((), x.dtype)
        return jnp.sum(x * x) + jax.pure_callback(host, zero, jax.lax.stop_gradient(x))

    start = START.astype(np.float32)  # the callback's thread knows nothing of this one's double precision
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="lost") as caught:
        shapeopt.minimize(fun, start, bounds=(-5, 5), budget=BUDGET)
    kept = caught.value.shapeopt_result
    assert len(calls) == at and not kept.success
    np.testing.assert_allclose(kept.fun, min(values), rtol=1e-6)
