"""`shapeopt.torch`: one closure a step, the best at the end, a state that goes on in another process."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import shapeopt  # noqa: E402
from shapeopt.adapters.minibatches import MinibatchWarning  # noqa: E402
from shapeopt.oracles import BudgetExhausted  # noqa: E402

BUDGET = 40


def wavy(x):
    return (x * x + 1 - torch.cos(4 * x)).sum()


class Task:
    def __init__(self, dtype=torch.float64, **settings):
        self.a = torch.nn.Parameter(torch.tensor([[2.2]], dtype=dtype))
        self.b = torch.nn.Parameter(torch.tensor([-1.4], dtype=dtype))
        self.optimizer = shapeopt.torch.Shape([self.a, self.b], **{"budget": BUDGET, "seed": 3, **settings})
        self.values = []

    def closure(self):
        self.optimizer.zero_grad()
        loss = wavy(torch.cat([self.a.reshape(-1), self.b]))
        loss.backward()
        self.values.append(loss.item())
        return loss

    def step(self, n):
        for _ in range(n):
            self.optimizer.step(self.closure)
        return self

    @property
    def loss(self):
        return wavy(torch.cat([self.a.detach().reshape(-1), self.b.detach()])).item()


def test_a_step_is_one_call_and_the_run_is_minimizes():
    task = Task().step(BUDGET)
    assert len(task.values) == BUDGET
    result = shapeopt.torch.minimize(wavy, torch.tensor([2.2, -1.4], dtype=torch.float64), budget=BUDGET, seed=3)
    np.testing.assert_allclose(task.values, result.trace.value, rtol=1e-9, atol=1e-12)
    assert isinstance(result.x, torch.Tensor) and result.x.dtype == torch.float64 and result.nfev == BUDGET
    assert wavy(result.x).item() == pytest.approx(result.fun) and isinstance(result.minima[0].x, torch.Tensor)


def test_the_last_step_leaves_the_best_in_place_and_no_other_follows():
    task = Task().step(BUDGET)
    assert task.loss == task.optimizer.best == min(task.values)
    with pytest.raises(BudgetExhausted, match="40"):
        task.optimizer.step(task.closure)
    early = Task().step(12)
    early.optimizer.load_best()
    assert early.loss == min(early.values)


def test_a_saved_state_goes_on_to_the_same_bits(tmp_path):
    whole, part = Task().step(BUDGET), Task().step(17)
    torch.save(part.optimizer.state_dict(), tmp_path / "state.pt")
    resumed = Task()
    resumed.optimizer.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert resumed.optimizer.best == part.optimizer.best
    resumed.step(BUDGET - 17)
    assert part.values + resumed.values == whole.values
    assert resumed.optimizer.best == whole.optimizer.best


def test_the_best_of_a_saved_run_can_be_put_into_place():
    part, resumed = Task().step(12), Task()
    resumed.optimizer.load_state_dict(part.optimizer.state_dict())
    resumed.optimizer.load_best()
    assert resumed.loss == min(part.values)


def test_bounds_differ_by_group_and_single_precision_stays():
    a = torch.nn.Parameter(torch.tensor([2.2]))
    b = torch.nn.Parameter(torch.tensor([-1.4]))
    groups = [{"params": [a], "bounds": (0.5, 3)}, {"params": [b]}]
    optimizer = shapeopt.torch.Shape(groups, bounds=(None, 2), budget=30)
    seen = []

    def closure():
        optimizer.zero_grad()
        seen.append((a.item(), b.item()))
        loss = a.square().sum() + (b - 3).square().sum()
        loss.backward()
        return loss

    for _ in range(30):
        optimizer.step(closure)
    a_seen, b_seen = np.array(seen).T
    assert a_seen.min() == 0.5 and a_seen.max() <= 3 and b_seen.max() == 2 and a.dtype == torch.float32
    assert (a.item(), b.item()) == (0.5, 2)


def test_a_stream_of_minibatches_is_warned_of_once_and_a_function_never():
    generator, a = torch.Generator().manual_seed(0), torch.nn.Parameter(torch.tensor([2.2, -1.4]))
    twice = shapeopt.Policy().told_of_noise()  # reads the start a second time
    optimizer = shapeopt.torch.Shape([a], budget=20, policy=twice)

    def closure():
        optimizer.zero_grad()
        loss = (a - torch.randn(2, generator=generator)).square().sum()
        loss.backward()
        return loss

    with pytest.warns(MinibatchWarning, match="minibatches") as caught:
        for _ in range(20):
            optimizer.step(closure)
    assert len(caught) == 1 and caught[0].filename == __file__
    Task(torch.float32).step(BUDGET)  # warnings are errors
    optimizer = shapeopt.torch.Shape([a], budget=20, noise=1.0)
    for _ in range(20):
        optimizer.step(closure)


def test_what_would_break_the_run_is_refused():
    task = Task().step(2)
    with pytest.raises(ValueError, match="closure"):
        task.optimizer.step()
    with pytest.raises(ValueError, match="param_group"):
        task.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
    with torch.no_grad():
        task.a += 1
    with pytest.raises(ValueError, match="changed"):
        task.optimizer.step(task.closure)
    with pytest.raises(ValueError, match="same parameters"):
        other = shapeopt.torch.Shape([torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))])
        task.optimizer.load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match="x0"):
        Task(bounds=(0, 1))
