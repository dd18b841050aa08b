"""Programs that are made simpler compute the same in fewer equations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shapeopt.ops.simplify import simplified, simplify


def repeats(x, y):
    """The same product three times, one result that nobody needs, and a conversion to the type that it has."""
    unused = jnp.sin(x) * y
    del unused
    return {"sum": x * y + x * y, "product": jnp.asarray(x * y, x.dtype)}


def test_a_repeated_equation_is_made_once_and_an_unused_one_never():
    program = jax.make_jaxpr(repeats)(1.5, 2.5).jaxpr
    names = [equation.primitive.name for equation in simplify(program).eqns]
    assert names.count("mul") == 1 and "sin" not in names
    assert len(names) < len(program.eqns)


@pytest.mark.parametrize("run", [jax.jit, jax.vmap])
def test_the_results_are_the_same_under_every_transformation(run):
    x, y = np.linspace(-1.0, 1.0, 4), np.linspace(2.0, 3.0, 4)
    made, wanted = run(simplified(repeats))(x, y), repeats(x, y)
    for name in wanted:
        np.testing.assert_allclose(made[name], wanted[name], rtol=1e-15)


def test_equations_that_differ_in_a_constant_or_a_parameter_stay_apart():
    def several(x):
        return x + 1.0, x + 2.0, x.sum(axis=0), x.sum(axis=1), x.astype(jnp.int32), x.astype(jnp.float32)

    x = jnp.arange(6.0).reshape(2, 3)
    for made, wanted in zip(simplified(several)(x), several(x), strict=True):
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)


def test_a_result_that_is_an_argument_or_a_constant_passes():
    x, two, three = simplified(lambda x: (x, 2.0, jnp.where(x > 0, 3.0, 3.0)))(jnp.ones(()))
    assert (float(x), float(two), float(three)) == (1.0, 2.0, 3.0)


def test_loops_keep_their_own_programs():
    def doubled(x):
        once = jax.lax.while_loop(lambda i: i < 8, lambda i: i * 2, x)
        return once + jax.lax.while_loop(lambda i: i < 8, lambda i: i * 3, x)

    assert int(simplified(doubled)(jnp.int32(1))) == 8 + 9
