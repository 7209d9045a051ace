"""The rewriting engine and the pass manager."""
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.graph import Graph
from mycelia.ir.parser import parse
from mycelia.ir.verifier import VerificationError
from mycelia.passes.dead_code import dead_code
from mycelia.passes.pipeline import PassManager, optimise
from mycelia.passes.rewrite import Rewriter, RuleSet, compile_pattern, rule


def graph_of(body: str) -> Graph:
    return parse(f"graph(%x: float32[2], %y: float32[2]) {{\n{body}\n}}")


def matches(pattern: str, graph: Graph) -> int:
    compiled = compile_pattern(pattern)
    return sum(1 for node in graph.nodes for _ in compiled.match(node))


def test_patterns():
    graph = graph_of("""%c = Constant() {value=array(float32[], 2.0)}
      %a = Mul(%c, %x)
      %b = Exp(%a)
      %d = Add(%b, %b)
      return %d""")
    assert matches("Mul(x, 2)", graph) == 1 and matches("Mul(x, 3)", graph) == 0
    assert matches("Sub(x, 2)", graph) == 0
    assert matches("Exp(inner:Mul(x, c:*))", graph) == 1
    assert matches("Exp|Log(x)", graph) == 1
    assert matches("Add(x, x)", graph) == 1 and matches("Mul(x, x)", graph) == 0


@pytest.mark.parametrize("text", ["x", "Add(x", "Add(x,)y", "Add(&)", "Add(a:b)"])
def test_wrong_patterns(text):
    with pytest.raises(ValueError, match="pattern"):
        compile_pattern(text)


@rule("Exp(inner:Neg(x))")
def exp_of_negation(m):
    if not m.single_use(m.inner.output):
        return m.fail("the negation has another reader")
    return m.add("Reciprocal", m.add("Exp", m.x))


def test_a_refused_match_keeps_its_reason_and_a_rewrite_its_origin():
    rewriter = Rewriter(RuleSet([exp_of_negation]), "test")
    graph = graph_of("%a = Neg(%x)\n%b = Exp(%a)\nreturn %a, %b")
    assert not rewriter.run(graph)
    (refused,) = rewriter.refused
    assert (
        refused.reason == "the negation has another reader"
        and "exp of negation at <Exp(float32[2])>" in str(refused)
    )

    graph = graph_of("%a = Neg(%x)\n%b = Exp(%a)  # net.py:3\nreturn %b")
    assert rewriter.run(graph)
    dead_code(graph)
    assert [(n.op.name, n.origin, n.loc.line) for n in graph.nodes] == [
        ("Exp", "test: exp of negation", 3), ("Reciprocal", "test: exp of negation", 3)]
    assert rewriter.applied == {"exp of negation": 1}


def test_a_name_that_the_pattern_does_not_bind():
    @rule("Neg(x)")
    def wrong(m):
        return m.y
    with pytest.raises(AttributeError, match="the pattern binds no 'y'"):
        Rewriter(RuleSet([wrong])).run(graph_of("%a = Neg(%x)\nreturn %a"))


def break_types(graph: Graph) -> bool:
    graph.nodes[0].inputs = [graph.nodes[-1].output]
    return True


def test_the_manager_names_the_pass_that_broke_the_graph(monkeypatch):
    graph = graph_of("%a = Neg(%x)\n%b = Exp(%a)\nreturn %b")
    with pytest.raises(VerificationError, match="after pass 'break_types'"):
        PassManager([dead_code, break_types], check=True).run(graph)
    monkeypatch.setenv("MYCELIA_VERIFY", "1")
    with pytest.raises(VerificationError):
        PassManager([break_types]).run(graph_of("%a = Neg(%x)\n%b = Exp(%a)\nreturn %b"))


def test_every_stage_is_shown_and_timed():
    stages: dict[str, Graph] = {}
    graph = graph_of("%a = Neg(%x)\n%b = Exp(%a)\n%d = Tanh(%y)\nreturn %b")
    result = optimise(graph, dump=lambda name, g: stages.setdefault(name, g), check=True)
    assert list(stages)[:2] == ["00_traced", "01_functionalise"] and "fusion" in "".join(stages)
    assert len(graph.nodes) == 3, "the traced graph is left as it is"
    report = str(result.report)
    assert "fusion" in report and "ms in" in report and len(result.main.nodes) == 1


def test_dead_code_keeps_effects():
    graph = graph_of("%a = Neg(%x)\nPrint(%a) {format='{}'}\n%b = Exp(%y)\nreturn %x")
    assert dead_code(graph) and [n.op.name for n in graph.nodes] == ["Neg", "Print"]
    assert not dead_code(graph)
