"""Every term against a slow version with loops, on a real record and on made-up ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.paper.optimizer import Channels
from shapeopt.paper.training.losses import (
    LossWeights,
    Terms,
    controller_loss,
    planner_loss,
    planner_terms,
    rollout_terms,
    tame,
)
from shapeopt.paper.training.record import Before, Lesson, Record
from shapeopt.paper.training.teacher import Label


def made_up(n=6, batch=3, d=2, seed=0) -> Record:
    rng = np.random.default_rng(seed)
    real = lambda *shape: jnp.asarray(rng.normal(size=shape))  # noqa: E731
    rows, points = (n, batch), (n, batch, d)
    label = Label(
        real(*points), jnp.asarray(rng.integers(0, 3, rows), jnp.int32), real(*rows), jnp.ones(rows, jnp.int32)
    )
    channels = Channels(*(jnp.abs(real(*rows)) for _ in range(3)), real(*rows))
    event = jnp.asarray(rng.random(rows) < 0.5)
    lesson = Lesson(real(*rows) ** 2, real(*rows) ** 2)
    return Record(
        real(*rows), real(*points), real(*points), event, real(*points), real(*rows, 3), label, lesson, channels
    )


def slow_terms(record: Record) -> dict[str, float]:
    """The equations of the paper, one run and one step at a time."""
    r = jax.tree.map(np.asarray, record)
    n, batch = r.value.shape
    T, out = n - 1, dict.fromkeys(Terms._fields, 0.0)
    for i in range(batch):
        unit = abs(r.value[0, i]) + 1.0
        out["term"] += r.value[T, i] / unit / batch
        out["best"] += min(r.value[:, i]) / unit / batch
        out["level"] += np.arcsinh(min(r.value[:, i])) / batch
        late = [k for k in range(n) if k >= 0.75 * n]
        for k in late:
            change = abs(r.value[k, i] - r.value[k - 1, i]) / unit
            out["settle"] += np.log10(change + 1e-12) / (batch * len(late))
        for k in range(1, n):
            out["prog"] += np.sqrt(np.sum((r.q[k, i] - r.goal[k, i]) ** 2)) / (batch * T)
        for k in range(T):
            u = r.channels.port[k, i]
            out["ctrl"] += u**2 / (batch * T)
            out["jr"] += (r.channels.skew[k, i] + r.channels.drag[k, i] + 0.25 * u) / (batch * T)
            out["port"] += max(r.channels.power[k, i], 0.0) ** 2 / (batch * T)
    events = [(k, i) for k in range(n) for i in range(batch) if r.event[k, i]]
    for k, i in events:
        logits = r.logits[k, i] - np.max(r.logits[k, i])
        out["ce"] += (np.log(np.sum(np.exp(logits))) - logits[r.label.mode[k, i]]) / len(events)
        for a in np.abs(r.anchor[k, i] - r.label.anchor[k, i]):
            out["sg"] += (0.5 * a * a if a < 1 else a - 0.5) / r.anchor.shape[-1] / len(events)
    return out


def terms_of(record: Record) -> Terms:
    n, batch = record.value.shape
    return rollout_terms(record, Before.nothing(batch, record.value.dtype), n)[0]


@pytest.mark.parametrize("seed", range(3))
def test_every_term_is_the_slow_one_on_a_made_up_record(seed):
    record = made_up(seed=seed)
    slow, fast = slow_terms(record), terms_of(record)
    for name in Terms._fields:
        np.testing.assert_allclose(getattr(fast, name), slow[name], rtol=1e-12, err_msg=name)


@pytest.mark.full
def test_every_term_is_the_slow_one_on_an_unroll(tiny):
    record = jax.tree.map(jnp.asarray, tiny.run[-1])
    assert record.value.shape == (tiny.readings, tiny.batch)
    slow, fast = slow_terms(record), terms_of(record)
    for name in Terms._fields:
        np.testing.assert_allclose(getattr(fast, name), slow[name], rtol=1e-5, err_msg=name)
        assert slow[name] > 0 or name in ("term", "best", "port", "settle"), name


def test_windows_add_up_to_the_run():
    record, total = made_up(n=6), dict.fromkeys(Terms._fields, 0.0)
    before = Before.nothing(3, record.value.dtype)
    for window in range(3):
        part = jax.tree.map(lambda leaf, w=window: leaf[2 * w : 2 * w + 2], record)
        terms, before = rollout_terms(part, before, 6)
        total = {name: total[name] + getattr(terms, name) for name in total}
    whole = terms_of(record)
    for name in ("term", "best", "prog", "ctrl", "jr", "port", "level", "settle"):
        np.testing.assert_allclose(total[name], getattr(whole, name), rtol=1e-12, err_msg=name)


def test_the_whole_is_weighted_as_the_paper_s_table_says():
    terms = Terms(*(jnp.asarray(10.0**k) for k in range(len(Terms._fields))))  # the last two are not the paper's
    slow = 1.0 + 0.5 * 10 + 0.1 * 1e2 + 0.4 * 1e3 + 0.25 * 1e4 + 1e-3 * 1e5 + 5e-4 * 1e6 + 5e-4 * 1e7
    np.testing.assert_allclose(terms.weighted(LossWeights()), slow, rtol=1e-12)


def test_a_run_that_stays_high_counts_by_its_level_and_not_in_units_of_its_first_value():
    record = made_up()
    first, rest = record.value[:1], record.value[1:]
    high = record._replace(value=jnp.concatenate([first.at[0, 0].set(1e12), rest.at[:, 0].set(1e3)]))
    low = record._replace(value=jnp.concatenate([first.at[0, 0].set(1e12), rest.at[:, 0].set(-1.0)]))
    worse, better = terms_of(high), terms_of(low)
    runs = record.value.shape[1]
    np.testing.assert_allclose((worse.level - better.level) * runs, np.arcsinh(1e3) + np.arcsinh(1.0), rtol=1e-9)
    assert worse.best - better.best < 1e-8


def test_planner_and_controller_losses_see_events_only():
    record, weights = made_up(), LossWeights()
    ce, sg = planner_terms(record)
    np.testing.assert_allclose(planner_loss(record, weights), 0.4 * ce + 0.25 * sg, rtol=1e-12)
    event = np.asarray(record.event)
    lesson = jax.tree.map(np.asarray, record.lesson)
    slow = np.mean(lesson.miss[event]) + 5e-4 * np.mean(lesson.operators[event])
    np.testing.assert_allclose(controller_loss(record, weights), slow, rtol=1e-12)
    never = record._replace(event=jnp.zeros_like(record.event))
    assert planner_loss(never, weights) == 0.0
    assert controller_loss(never, weights) == 0.0


def test_values_that_are_not_finite_count_as_the_worst_of_their_run():
    value = jnp.array([[1.0, jnp.inf], [jnp.nan, -jnp.inf], [3.0, jnp.nan]])
    np.testing.assert_array_equal(tame(value), [[1.0, 0.0], [3.0, 0.0], [3.0, 0.0]])
    slope = jax.grad(lambda v: jnp.sum(tame(v)))(value)
    np.testing.assert_array_equal(slope, [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="`best` must not be negative; got -1"):
        LossWeights(best=-1.0)
