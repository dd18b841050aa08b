"""What the API pages show says what goes in, what comes out, what is raised, and has an example.

The sources are read, not imported, so that adapters of packages that are absent are held to it too.
"""

import ast
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "shapeopt"
PAGES = sorted((ROOT / "docs").glob("api*.md"))
ENTRY = re.compile(r"^\.\. auto(function|class):: shapeopt\.([\w.]+)\n((?:   .*\n)*)", flags=re.MULTILINE)
PARTS = "api_parts.md"  # its classes are for people who read sources; its functions are held to the same
ELSEWHERE = {"Policy"}  # own_tactic.md is its page
SECTIONS = r"Args|Returns|Raises|Example"


def entries() -> list[tuple[str, str, tuple[str, ...]]]:
    """(kind, dotted name, members) of all that the pages show and this test is about."""
    found = []
    for page in PAGES:
        for kind, name, options in ENTRY.findall(page.read_text()):
            if name not in ELSEWHERE and (kind == "function" or page.name != PARTS):
                listed = re.search(r":members: (.*)", options)
                found.append((kind, name, tuple(re.findall(r"\w+", listed[1])) if listed else ()))
    return found


def definition(name: str) -> ast.FunctionDef | ast.ClassDef:
    """Where a public name is defined: in the adapter of its module, or in the one file that has it at its top."""
    *room, last = name.split(".")
    file = PACKAGE.joinpath("adapters", *room).with_suffix(".py")
    files = [file] if len(room) == 1 and file.is_file() else sorted(PACKAGE.joinpath(*room).rglob("*.py"))
    if not files:
        files = [PACKAGE.joinpath(*room).with_suffix(".py")]
    bodies = [node for path in files for node in ast.parse(path.read_text()).body]
    public = [n for n in bodies if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == last]
    if len(room) == 0 and len(public) > 1:  # `shapeopt.minimize` beside those of other rooms
        home = re.search(rf'^    "{last}": "\.([\w.]+)",$', (PACKAGE / "__init__.py").read_text(), flags=re.MULTILINE)
        assert home, name
        return definition(f"{home[1]}.{last}")
    if len(public) > 1:
        public = public[:1]
    assert public, f"{name} is nowhere"
    return public[0]


def sections(docstring: str) -> dict[str, str]:
    parts = re.split(rf"^({SECTIONS}):\n", docstring, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [one.arg for one in names if one.arg not in ("self", "cls") and not one.arg.startswith("_")]


def made_with(made: ast.ClassDef) -> list[str]:
    """What a class is built with: the parameters of `__init__`, or the fields of a dataclass or a named tuple."""
    for node in made.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return parameters(node)
    fields = [node for node in made.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    names = [node.target.id for node in fields if "ClassVar" not in ast.unparse(node.annotation)]
    return [name for name in names if not name.startswith("_")]


def unsaid(names: list[str], text: str) -> list[str]:
    heads = " ".join(re.findall(r"^    (\*{0,2}\w[\w, *]*):", text, flags=re.MULTILINE))
    return [name for name in names if not re.search(rf"\b{name}\b", heads)]


def raises(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Raise) and one.exc is not None for one in ast.walk(node))


def lacks(node: ast.FunctionDef | ast.ClassDef, names: list[str], wanted: list[str]) -> list[str]:
    said = sections(ast.get_docstring(node) or "")
    absent = [name for name in wanted if name not in said]
    absent += [f"argument {name}" for name in unsaid(names, said.get("Args", ""))]
    if "Example" in said:
        compile(textwrap.dedent(said["Example"]), node.name, "exec")
    return absent


@pytest.mark.parametrize(("kind", "name", "members"), entries(), ids=lambda one: one if isinstance(one, str) else "")
def test_a_public_name_says_what_it_takes_returns_and_raises(kind, name, members):
    node = definition(name)
    if isinstance(node, ast.FunctionDef):
        assert not lacks(node, parameters(node), ["Args", "Returns", "Raises", "Example"])
        return
    built = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name in ("__init__", "__post_init__")]
    wanted = ["Args", "Example"] + ["Raises"] * any(map(raises, built))
    assert not lacks(node, made_with(node), wanted)
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    for member in members:
        method = methods[member]
        assert ast.get_docstring(method), member
        if any(isinstance(one, ast.Name) and one.id == "property" for one in method.decorator_list):
            continue
        nothing = method.returns is None or ast.unparse(method.returns) == "None"
        wanted = ["Args"] * bool(parameters(method)) + ["Returns"] * (not nothing) + ["Raises"] * raises(method)
        assert not lacks(method, parameters(method), wanted), member


def test_the_pages_show_all_that_is_public():
    named = {name for _, name, _ in entries()}
    modules = [path for path in PACKAGE.glob("*.py") if (PACKAGE / "adapters" / path.name).is_file()]
    for path in modules:
        exported = re.search(r"^__all__ = \[(.*)\]", path.read_text(), flags=re.MULTILINE)
        if exported is not None:
            names = re.findall(r'"(\w+)"', exported[1])
            assert {f"{path.stem}.{name}" for name in names} <= named


def test_missing_sections_and_arguments_are_found():
    source = '''
    def f(x, y):
        """F.

        Args:
            x: a number.

        Returns:
            Its square.
        """
        raise ValueError("no")
    '''
    node = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(node, ast.FunctionDef)
    assert lacks(node, parameters(node), ["Args", "Returns", "Raises", "Example"]) == [
        "Raises",
        "Example",
        "argument y",
    ]
