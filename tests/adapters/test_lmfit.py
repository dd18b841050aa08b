"""`shapeopt.lmfit`: the best basin, and lmfit's own statistics there."""

import numpy as np
import pytest

lmfit = pytest.importorskip("lmfit")

import shapeopt  # noqa: E402

X = np.linspace(0, 10, 120)
Y = 2.5 * np.sin(4.7 * X + 0.4) * np.exp(-0.12 * X) + np.random.default_rng(0).normal(0, 0.1, X.size)


def damped(x, amp, freq, phase, decay):
    return amp * np.sin(freq * x + phase) * np.exp(-decay * x)


def parameters():
    params = lmfit.Model(damped).make_params(amp=1, freq=1.5, phase=0, decay=0.05)
    for name, low, high in (("amp", 0, 10), ("freq", 0.1, 8), ("phase", -3.2, 3.2), ("decay", 0, 2)):
        params[name].set(min=low, max=high)
    return params


def test_a_model_is_fitted_where_lmfit_alone_ends_in_another_basin():
    model, calls, params = lmfit.Model(damped), [], parameters()
    params["decay"].set(value=0.12, vary=False)
    alone = model.fit(Y, params, x=X)
    counted = lmfit.Model(lambda x, amp, freq, phase, decay: (calls.append(1), damped(x, amp, freq, phase, decay))[1])
    result = shapeopt.lmfit.fit(counted, Y, params, x=X, budget=600)
    assert alone.chisqr > 20 and result.chisqr < 1.3
    assert result.params["freq"].value == pytest.approx(4.7, abs=4 * result.params["freq"].stderr)
    assert result.nfev <= 600 and len(calls) <= 605  # lmfit evaluates its first and its best fit once more
    assert isinstance(result, lmfit.model.ModelResult) and result.shape.fun >= result.chisqr - 1e-9


def test_a_residual_function_keeps_fixed_parameters_and_expressions():
    params = parameters()
    params["decay"].set(value=0.12, vary=False)
    params.add("half", expr="amp / 2")

    def residual(values, x, y, *, scale):
        words = {name: values[name].value for name in ("amp", "freq", "phase", "decay")}
        return (damped(x, **words) - y) * scale

    result = shapeopt.lmfit.minimize(residual, params, args=(X, Y), kws={"scale": 2.0}, budget=500)
    assert result.params["decay"].value == 0.12 and result.params["decay"].vary is False
    assert result.params["half"].value == result.params["amp"].value / 2
    assert result.chisqr / 4 < 1.3 and result.nfev <= 500 and params["freq"].value == 1.5


def test_weights_count_in_the_search_too():
    weights = np.where(X < 5, 1.0, 0.0)
    spoilt = np.where(X < 5, Y, 40.0)
    result = shapeopt.lmfit.fit(lmfit.Model(damped), spoilt, parameters(), weights=weights, x=X, budget=600)
    assert result.params["freq"].value == pytest.approx(4.7, abs=0.05)


def test_what_can_t_be_fitted_is_refused():
    params = parameters()
    for one in params.values():
        one.set(vary=False)
    with pytest.raises(ValueError, match="varies"):
        shapeopt.lmfit.fit(lmfit.Model(damped), Y, params, x=X)
    with pytest.raises(ValueError, match="budget"):
        shapeopt.lmfit.fit(lmfit.Model(damped), Y, parameters(), x=X, budget=40)
