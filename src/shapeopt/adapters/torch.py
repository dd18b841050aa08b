"""`shapeopt.torch`: an optimizer for PyTorch's parameters, and `minimize` for its functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..core.problem import read_problem
from ..core.result import Result
from ..engines.host import whole
from ..optimizer import Policy
from ..oracles import BudgetExhausted
from ..policies import find_policy
from .minibatches import SamePoint
from .stepped import SteppedRun


class Shape(torch.optim.Optimizer):
    """SHAPE over a module's parameters; one call of the closure a step.

    For small deterministic losses: a fit, a physics-informed network, a calibration, with the whole data in every
    call. On a stream of minibatches it descends once, without a rate to tune; where the loss has two values at one
    point, and `noise` is not given, a `MinibatchWarning` says so, once.

    The step that spends the budget leaves the best parameters seen (on a stream, the last ones) in place; `load_best`
    does so at any time before. A closure that raises costs its call, and the next step asks it at the same place.
    Between steps the parameters must be left as they are.

    Args:
        params: tensors, or parameter groups, as PyTorch's optimizers take them.
        bounds: (lower, upper), None for no bound; a parameter group may have its own.
        budget: the number of steps.
        policy, noise, seed: as `shapeopt.minimize` has them.

    Raises:
        ValueError: if an argument is wrong; the message names it.

    Example:
        optimizer = shapeopt.torch.Shape(model.parameters(), budget=300)
        for _ in range(300):
            optimizer.step(closure)  # closure: zero_grad, loss, backward, return loss
    """

    def __init__(
        self,
        params: Any,
        *,
        bounds: tuple[float | None, float | None] | None = None,
        budget: int = 500,
        policy: str | Policy = "universal",
        noise: float | None = None,
        seed: int = 0,
    ) -> None:
        budget = whole("budget", budget)
        self._run: SteppedRun | None = None
        super().__init__(params, {"bounds": bounds})
        double = all(one.dtype == torch.float64 for one in self._parameters())
        self._dtype = np.dtype(np.float64 if double else np.float32)
        x0 = self._flat(lambda one: one)
        problem = read_problem(x0, self._sides(), np.random.default_rng(seed))
        self.budget, self.calls, self.best = budget, 0, float("inf")
        self._best_x, self._x = x0, x0
        self._noise, self._same = noise, SamePoint("shapeopt.torch.Shape")
        self._run = SteppedRun(find_policy(policy), problem, budget, noise, seed)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if self._run is not None:
            raise ValueError("`param_group` can't be added: a run's dimension is fixed when it begins.")
        super().add_param_group(param_group)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Evaluate the closure at the parameters, and move them to where it is to be evaluated next.

        Args:
            closure: sets gradients to zero, computes the loss, calls its `backward`, and returns the loss.

        Returns:
            The closure's loss.

        Raises:
            BudgetExhausted: if all calls are spent.
            ValueError: without a closure, or if the parameters were changed since the last step.
        """
        if closure is None:
            raise ValueError("`closure` is missing; step(closure) needs the loss and its gradient.")
        if self.calls >= self.budget:
            raise BudgetExhausted(f"All {self.budget} calls are spent; the parameters are the best that were seen.")
        if not np.array_equal(self._flat(lambda one: one), self._x):
            raise ValueError("parameters were changed since the last step; the loss would belong to another place.")
        try:
            with torch.enable_grad():
                loss = closure()
        except BaseException:
            self._spend()
            raise
        self._take(
            torch.as_tensor(loss).item(),
            self._flat(lambda one: torch.zeros_like(one) if one.grad is None else one.grad),
        )
        return loss

    def load_best(self) -> None:
        """Put the best parameters seen into place; the run can't go on from there."""
        self._place(self._best_x)

    def state_dict(self) -> dict[str, Any]:
        """All that another process needs to go on.

        Returns:
            A dictionary of tensors and numbers alone.
        """
        assert self._run is not None
        leaves = [torch.from_numpy(_signed(leaf).copy()) for leaf in self._run.arrays()]
        state = {"calls": self.calls, "budget": self.budget, "best": self.best, "leaves": leaves}
        state |= {"x": torch.from_numpy(self._x.copy()), "best_x": torch.from_numpy(self._best_x.copy())}
        return {"state": state, "param_groups": super().state_dict()["param_groups"]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where a `state_dict` was made: same parameters, bounds, policy and seed; moves the parameters there.

        Args:
            state_dict: what `state_dict` returned, in this process or another one.

        Raises:
            ValueError: if it is of an optimizer with other parameters or another policy.
        """
        assert self._run is not None
        state = state_dict["state"]
        like = self._run.arrays()
        if len(state["leaves"]) != len(like) or len(state["x"]) != self._x.size:
            raise ValueError("`state_dict` must be of an optimizer with the same parameters and policy.")
        self._run.load([_unsigned(leaf.numpy(), one.dtype) for leaf, one in zip(state["leaves"], like, strict=True)])
        self.calls, self.budget, self.best = state["calls"], state["budget"], state["best"]
        self._best_x = state["best_x"].numpy().astype(self._dtype)
        self._place(state["x"].numpy().astype(self._dtype))

    def _take(self, value: float, gradient: np.ndarray) -> None:
        assert self._run is not None
        if not self._noise:  # else two values at one point are what the user told of
            self._same.look(self._x, value)
        if np.isfinite(value) and (value < self.best or self._run.settles):
            self.best, self._best_x = value, self._x
        self._run.tell(value, gradient)
        self._place(self._run.x)
        self._spend()

    def _spend(self) -> None:
        """A call was made; the last one leads to the best."""
        self.calls += 1
        if self.calls == self.budget:
            self._place(self._best_x)

    def _place(self, x: np.ndarray) -> None:
        """Write x into the parameters; what they make of it is what the next loss belongs to."""
        with torch.no_grad():
            parts = torch.split(torch.from_numpy(x.copy()), [one.numel() for one in self._parameters()])
            for one, part in zip(self._parameters(), parts, strict=True):
                one.copy_(part.reshape(one.shape))
        self._x = self._flat(lambda one: one)

    def _parameters(self) -> list[torch.Tensor]:
        return [one for group in self.param_groups for one in group["params"]]

    def _flat(self, part: Callable[[torch.Tensor], torch.Tensor]) -> np.ndarray:
        rows = [part(one).detach().to("cpu", torch.float64).reshape(-1) for one in self._parameters()]
        return torch.cat(rows).numpy().astype(self._dtype)

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for group in self.param_groups:
            size = sum(one.numel() for one in group["params"])
            for side, given, empty in zip(sides, group["bounds"] or (None, None), (-np.inf, np.inf), strict=True):
                side.append(np.full(size, empty if given is None else given, float))
        return np.concatenate(sides[0]), np.concatenate(sides[1])


def minimize(
    fun: Callable[[torch.Tensor], torch.Tensor],
    x0: torch.Tensor,
    *,
    bounds: Any = None,
    budget: int = 500,
    noise: float | None = None,
    policy: str | Policy = "universal",
    num_starts: int = 1,
    seed: int = 0,
    callback: Callable[[Result], Any] | None = None,
) -> Result:
    """`shapeopt.minimize` of a function of a tensor, differentiated by PyTorch.

    Args:
        fun: the objective; it sees tensors of x0's shape, dtype and device.
        x0: where to start.
        bounds, budget, noise, policy, num_starts, seed, callback: as `shapeopt.minimize` has them.

    Returns:
        What `shapeopt.minimize` returns, with tensors like x0 as `x` and in `minima`.

    Raises:
        ValueError: if an argument is wrong; the message names it. Exceptions of `fun` pass as they are.

    Example:
        result = shapeopt.torch.minimize(lambda x: (x**2).sum(), torch.ones(8), bounds=(-5, 5), budget=300)
    """
    from .. import minimizer

    def tensor(x: Any) -> torch.Tensor:
        return torch.tensor(np.asarray(x), dtype=x0.dtype, device=x0.device)

    def pair(x: Any) -> tuple[float, np.ndarray]:
        point = tensor(x).requires_grad_()
        value = fun(point)
        return value.item(), torch.autograd.grad(value, point)[0].detach().cpu().numpy()

    def with_tensors(result: Result) -> Result:
        for one in (result, *result.minima):
            one.update(x=tensor(one.x))
        return result

    try:
        result = minimizer.minimize(
            pair,
            x0.detach().cpu().numpy(),
            bounds=bounds,
            budget=budget,
            jac=True,
            noise=noise,
            policy=policy,
            num_starts=num_starts,
            seed=seed,
            callback=callback,
        )
    except BaseException as error:
        if hasattr(error, "shapeopt_result"):
            with_tensors(error.shapeopt_result)
        raise
    return with_tensors(result)


def _signed(leaf: np.ndarray) -> np.ndarray:
    """PyTorch saves no unsigned words; their bits travel as signed ones."""
    return leaf.view(np.int32) if leaf.dtype == np.uint32 else leaf


def _unsigned(array: np.ndarray, dtype: Any) -> np.ndarray:
    """What `_signed` made of an array of `dtype`, undone."""
    return array.view(np.uint32) if dtype == np.uint32 else array
