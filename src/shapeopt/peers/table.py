"""The one table of peers, which every generic test and comparison reads.

An entry called `method` has the settings that its library comes with, or that its manual advises; `method_...` is the
same method with a setting that somebody who knows the landscapes would try, and `method_scaled` the same in
coordinates that are scaled to the box.
"""

from collections.abc import Mapping
from types import MappingProxyType

from .base import AbstractPeer
from .basinhopping import BasinHopping
from .cma_es import BipopCmaEs, CmaEs, IpopCmaEs
from .differential_evolution import DifferentialEvolution
from .direct import Direct
from .dual_annealing import DualAnnealing
from .least_squares import LeastSquares
from .monotonic import MonotonicHopping
from .multistart import MultiStart
from .nevergrad_portfolio import NGOpt
from .nlopt_global import ControlledRandomSearch, Isres, Mlsl, MlslBobyqa
from .nlopt_local import Bobyqa
from .optuna_tpe import OptunaTpe
from .packages import load
from .restarts import Bfgs, Cobyqa, NelderMead, Slsqp
from .scaled import Scaled
from .shgo import Shgo
from .tiktak import TikTak, TikTakBobyqa

PEERS: Mapping[str, AbstractPeer] = MappingProxyType(
    {
        peer.name: peer
        for peer in (
            MultiStart(),
            BasinHopping(),
            BasinHopping("basinhopping_step_0.7", stepsize=0.7),
            BasinHopping("basinhopping_step_1", stepsize=1.0),
            BasinHopping("basinhopping_step_2", stepsize=2.0),
            BasinHopping("basinhopping_step_4", stepsize=4.0),
            MonotonicHopping(),
            MonotonicHopping("monotonic_hopping_near", step=0.07),
            MonotonicHopping("monotonic_hopping_far", step=0.15),
            MonotonicHopping("monotonic_hopping_loose", ftol=1e-3),
            MonotonicHopping("monotonic_hopping_few", step=0.25, share=0.1, ftol=1e-2),
            MonotonicHopping("monotonic_hopping_few_near", step=0.15, share=0.1, ftol=1e-2),
            MonotonicHopping("monotonic_hopping_few_anywhere", step=1.0, share=0.05, ftol=1e-2),
            DualAnnealing(),
            DifferentialEvolution(),
            DifferentialEvolution("differential_evolution_10", members=10),
            DifferentialEvolution("differential_evolution_20", members=20),
            DifferentialEvolution("differential_evolution_40", members=40),
            Direct(),
            Direct("direct_unbiased", locally_biased=False),
            Shgo(),
            CmaEs(),
            CmaEs("cma_near", sigma0=0.1),
            CmaEs("cma_separable", separable=True),
            BipopCmaEs(),
            Mlsl(),
            ControlledRandomSearch(),
            ControlledRandomSearch("crs2_40", members=40),
            Isres(),
            NGOpt(),
            Scaled("multistart_scaled", MultiStart()),
            Bfgs(),
            Scaled("bfgs_scaled", Bfgs()),
            Slsqp(),
            Scaled("slsqp_scaled", Slsqp()),
            NelderMead(),
            Scaled("nelder_mead_scaled", NelderMead()),
            Cobyqa(),
            Scaled("cobyqa_scaled", Cobyqa()),
            Bobyqa(),
            TikTak(),
            Scaled("tiktak_scaled", TikTak()),
            TikTakBobyqa(),
            Scaled("mlsl_scaled", Mlsl()),
            MlslBobyqa(),
            Scaled("basinhopping_scaled", BasinHopping()),
            Scaled("basinhopping_wide", BasinHopping(stepsize=5.0)),
            Scaled("dual_annealing_scaled", DualAnnealing()),
            Scaled("shgo_scaled", Shgo()),
            IpopCmaEs(),
            OptunaTpe(),
            LeastSquares(),
        )
    }
)


def make_peer(name: str) -> AbstractPeer:
    """The peer of the table called `name`, once its package is known to be there."""
    if name not in PEERS:
        raise ValueError(f"`name` must be one of {', '.join(PEERS)}; got {name!r}.")
    load(PEERS[name].package)
    return PEERS[name]
