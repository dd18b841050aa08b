"""From the archive of basins to the memory and barrier terms of the shaped potential (eqs. shape_shaped_potential,
dp_stage_potential_discrete).

    U_mem: a Gaussian on every known basin, higher with every visit, as in metadynamics
    V_bar: a bump of compact support on every known basin, in escape mode only

Heights are shares of a value unit (the stage's), widths are per root coordinate, so that neither the scale of f nor the
dimension changes how a basin repels. Both have as many centres as the archive has slots, whether filled or not.

Departs from the paper: it names the two terms and leaves their forms, heights and widths open; all were chosen here.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core import Mode
from .dynamics import Centres, ShapedPotential
from .memory import AbstractSpatialMemory, Archive

REPULSION = (
    0.1  # height of U_mem after many visits, half of it after one; mild, since a good basin may be refined again
)
REPULSION_WIDTH = 0.5  # internal units (the box is 10 wide) per root coordinate
BARRIER = 1.0  # height of V_bar; its steepest force is then about twice a typical one, so that it pushes out
BARRIER_WIDTH = 0.75  # radius of its support
FILL = 10.0  # height that a write adds to its cell, in units of a typical force over the cell's width


def repulsion(archive: Archive, unit: Float[Array, ""]) -> Centres:
    """U_mem: height n / (n + 1) of a basin visited n times."""
    visits = archive.visits.astype(archive.values.dtype)
    return _centres(archive, REPULSION * unit * visits / (visits + 1.0), REPULSION_WIDTH)


def barrier(archive: Archive, unit: Float[Array, ""], active: Bool[Array, ""]) -> Centres:
    """V_bar, flat where not `active`."""
    height = jnp.where(active, BARRIER * unit, 0.0)
    return _centres(archive, jnp.broadcast_to(height, archive.values.shape), BARRIER_WIDTH)


def shaped_potential(
    anchor: Float[Array, " d"],
    kappa: Float[Array, ""],
    archive: Archive | None,
    unit: Float[Array, ""],
    mode: Int[Array, ""],
    heights: Float[Array, " 2"] | tuple[float, float] = (1.0, 1.0),
) -> ShapedPotential:
    """U_shp of a stage; the anchor alone where there is no archive. `kappa` and `unit` are in units of f; `heights`
    multiply those of U_mem and V_bar."""
    if archive is None:
        return ShapedPotential.anchored(anchor, kappa)
    memory, bar = repulsion(archive, heights[0] * unit), barrier(archive, heights[1] * unit, mode == Mode.ESCAPE)
    return ShapedPotential(anchor, kappa, memory, bar)


def cell_potential(
    anchor: Float[Array, " d"],
    kappa: Float[Array, ""],
    memory: AbstractSpatialMemory,
    unit: Float[Array, ""],
    mode: Int[Array, ""],
    heights: Float[Array, " 2"] | tuple[float, float] = (1.0, 1.0),
) -> ShapedPotential:
    """U_shp with U_mem and V_bar on the cells of m_s, as the paper has them as functions of m_s, instead of basins.

    A cell rises with every write, without a bound: as in metadynamics, a basin in which stages stall again and again is
    filled until the plant flows out of it.

    Departs from the paper: the forms were chosen here, as above; widths are those of the cells.
    """
    regions = memory.regions()
    widths = jnp.full_like(regions.counts, regions.width)
    raised = jnp.where((mode == Mode.ESCAPE) & (regions.counts > 0), BARRIER * unit, 0.0)
    return ShapedPotential(
        anchor,
        kappa,
        Centres(regions.points, heights[0] * FILL * regions.width * unit * regions.counts, widths),
        Centres(regions.points, heights[1] * raised, widths),
    )


def _centres(archive: Archive, heights: Float[Array, " A"], width: float) -> Centres:
    widths = jnp.full_like(heights, width * archive.points.shape[-1] ** 0.5)
    return Centres(archive.points, jnp.where(archive.filled, heights, 0.0), widths)
