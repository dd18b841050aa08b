"""The memories of the paper's policy in eager PyTorch, batched: multigrid, blocks, archive (see `torch_step`).

Nothing here is differentiated but a block's distance from the best point.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from shapeopt.core import REACH
from shapeopt.paper.memory.blockwise import BINS, BLOCK_LEVELS
from shapeopt.paper.memory.grid import GRID_LEVELS
from shapeopt.paper.memory.summary import BEST, CHANNELS, COUNT, GRADIENT, MEAN, SPREAD
from shapeopt.paper.policy import BASINS
from shapeopt.paper.shaping import BARRIER, BARRIER_WIDTH, REPULSION, REPULSION_WIDTH
from shapeopt.paper.stage import KNOWN_BASIN


class Memory(NamedTuple):
    """Summaries of cells (row 0 is the domain) and the best place; which cells is up to the dimension."""

    table: Tensor  # batch, cells, channels
    best_q: Tensor
    starts: Tensor  # a grid's first row, or a block's
    sizes: Tensor  # cells along a side, one a grid level; empty for blocks
    blocks: tuple[int, ...]  # coordinates in a block, one a level; empty for grids
    roots: Tensor  # of the blocks' lengths

    @staticmethod
    def empty(q: Tensor) -> "Memory":
        batch, d = q.shape
        sizes, blocks, roots = torch.tensor(GRID_LEVELS), (), q.new_zeros(0)
        starts = 1 + torch.cumsum(sizes**2, 0) - sizes**2
        cells = 1 + int(torch.sum(sizes**2))
        if d != 2:
            blocks = tuple(sorted({-(-d // count) for count in BLOCK_LEVELS}, reverse=True))
            lengths = [min(size, d - first) for size in blocks for first in range(0, d, size)]
            roots, sizes = q.new_tensor(lengths).sqrt(), sizes[:0]
            starts, cells = 1 + BINS * torch.arange(len(lengths)), 1 + BINS * len(lengths)
        table = q.new_zeros(batch, cells, CHANNELS)
        table[..., BEST] = torch.inf
        return Memory(table, torch.zeros_like(q), starts, sizes, blocks, roots)

    def cells(self, q: Tensor) -> Tensor:
        """Rows of the cells that hold points (batch, ..., d)."""
        if self.blocks:
            scaled = (self.coordinates(q.detach()) + REACH) * (BINS / (2.0 * REACH))
            return self.starts + scaled.long().clamp(0, BINS - 1)
        unit = ((q.detach() + REACH) / (2.0 * REACH)).clamp(0.0, 1.0)
        places = torch.minimum((unit[..., None] * self.sizes).long(), self.sizes - 1)
        return self.starts + places[..., 0, :] * self.sizes + places[..., 1, :]

    def rows(self, cells: Tensor) -> Tensor:
        """Summaries of the cells (batch, ..., n)."""
        flat = cells.reshape(len(cells), -1, 1).expand(-1, -1, CHANNELS)
        return self.table.gather(1, flat).reshape(*cells.shape, CHANNELS)

    def sums(self, v: Tensor) -> Tensor:
        """Sum over every block."""
        return torch.cat([_block_sums(v, size) for size in self.blocks], dim=-1)

    def coordinates(self, q: Tensor) -> Tensor:
        return (self.sums(q) / self.roots).clamp(-REACH, REACH)

    def read(self, q: Tensor) -> Tensor:
        features = describe(self.rows(self.cells(q)), self.table[:, 0]).flatten(1)
        if not self.blocks:
            return features
        offset = (self.coordinates(self.best_q) - self.coordinates(q)) / (2.0 * REACH)
        known = torch.isfinite(self.table[:, :1, BEST])
        return torch.cat([features, torch.where(known, offset.clamp(-1.0, 1.0), 0.0)], dim=1)

    def novelty(self, points: Tensor) -> Tensor:
        return torch.rsqrt(1.0 + self.rows(self.cells(points))[..., COUNT]).mean(-1)

    def write(self, q: Tensor, f: Tensor, g: Tensor, active: Tensor) -> "Memory":
        cells = torch.cat([torch.zeros_like(self.cells(q)[:, :1]), self.cells(q)], dim=1)
        squares = g**2
        whole = squares.sum(1, keepdim=True)
        norms = torch.cat([whole, self.sums(squares)], dim=1).sqrt() if self.blocks else whole.sqrt().expand_as(cells)
        rows = self.rows(cells)
        kept = torch.where(active[:, None, None], absorb(rows, f[:, None], norms), rows)
        improves = active & (f < self.table[:, 0, BEST])
        table = self.table.scatter(1, cells[..., None].expand(-1, -1, CHANNELS), kept)
        return self._replace(table=table, best_q=torch.where(improves[:, None], q, self.best_q))


def _block_sums(v: Tensor, size: int) -> Tensor:
    padded = torch.nn.functional.pad(v, (0, -v.shape[-1] % size))
    return padded.reshape(*v.shape[:-1], -1, size).sum(-1)


def absorb(rows: Tensor, value: Tensor, norms: Tensor) -> Tensor:
    count, mean, spread, gradient, best = rows.unbind(-1)
    share = 1.0 / (count + 1.0)
    step = (value - mean) * share
    deviation = torch.hypot(spread * (count * share).sqrt(), step * count.sqrt())
    return torch.stack(
        [count + 1.0, mean + step, deviation, gradient + (norms - gradient) * share, torch.minimum(best, value)], dim=-1
    )


def describe(rows: Tensor, overall: Tensor) -> Tensor:
    overall = overall[:, None]
    count, spread = rows[..., COUNT], overall[..., SPREAD]
    seen = (count > 0)[..., None]
    above = torch.where(seen, rows[..., [MEAN, BEST]] - overall[..., BEST : BEST + 1], 0.0)
    merit = torch.where(above > 0, _share(spread[..., None], above), 1.0)
    others = [
        count / (count + 1.0),
        count / overall[..., COUNT].clamp(min=1.0),
        merit[..., 0],
        merit[..., 1],
        _share(rows[..., SPREAD], spread),
        _share(rows[..., GRADIENT], overall[..., GRADIENT]),
    ]
    return torch.where(seen, torch.stack(others, dim=-1), 0.0)


def _share(part: Tensor, rest: Tensor) -> Tensor:
    whole = part + rest
    return torch.where(whole > 0, part / torch.where(whole > 0, whole, 1.0), 0.0)


class Archive(NamedTuple):
    """The best few basins of each run."""

    points: Tensor  # batch, basins, d
    values: Tensor
    visits: Tensor

    @staticmethod
    def empty(q: Tensor) -> "Archive":
        slots = q.new_zeros(len(q), BASINS)
        return Archive(q.new_zeros(len(q), BASINS, q.shape[1]), slots + torch.inf, slots)

    def write(self, q: Tensor, f: Tensor, active: Tensor) -> "Archive":
        squares = torch.where(self.values.isfinite(), ((self.points - q[:, None]) ** 2).sum(-1), torch.inf)
        least, nearest = squares.min(1)
        known = least <= KNOWN_BASIN**2 * q.shape[1]
        slot = torch.where(known, nearest, self.values.argmax(1))
        chosen = torch.arange(BASINS) == slot[:, None]
        moves = chosen & (active & (f < self.values.gather(1, slot[:, None])[:, 0]))[:, None]
        again = chosen & (active & known)[:, None]
        return Archive(
            torch.where(moves[..., None], q[:, None], self.points),
            torch.where(moves, f[:, None], self.values),
            torch.where(again, self.visits + 1.0, torch.where(moves, 1.0, self.visits)),
        )

    def force(self, q: Tensor, unit: Tensor, escaping: Tensor, heights: Tensor) -> Tensor:
        """Gradient of U_mem + V_bar."""
        d, filled = q.shape[1], self.values.isfinite()
        offsets = torch.where(filled[..., None], q[:, None] - self.points, 0.0)
        squares = (offsets**2).sum(-1)
        soft, hard = REPULSION_WIDTH**2 * d, BARRIER_WIDTH**2 * d
        hill = heights[0] * REPULSION * self.visits / (self.visits + 1.0) * torch.exp(-0.5 * squares / soft) / soft
        wall = heights[1] * 4.0 * BARRIER / hard * (1.0 - squares / hard).clamp(min=0.0) * escaping[:, None]
        weights = torch.where(filled, unit[:, None] * (hill + wall), 0.0)
        return -(weights[:, None] @ offsets)[:, 0]
