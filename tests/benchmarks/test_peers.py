"""A peer's cost counts only if it was seen to report something, and its findings are counted in its own format."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Command
from benchmarks.peers import PEERS, PLANTED, count, run

SAID = {
    "torchfix": "planted.py:6:1: TOR105 [*] Import of non-public function\n-from a import b\nFinished checking 1 files",
    "fixit": "planted.py@9:0 NoNamedTuple: Instead of NamedTuple (has autofix)\n1 file checked, 1 file with errors",
    "torch-preflight": "::error file=planted.py,line=16,endLine=16,col=28,title=TG005 Softmax::twice",
    "flake8": "./planted.py:1:1: F401 'os' imported but unused",
    "pylint": "************* Module planted\nplanted.py:1:0: W0611: Unused import os (unused-import)\n\n---\nYour code",
    "semgrep": "planted.py:14:27:warning(checkpoint-load-runs-code):    torch.load(path):this load runs code",
}
"""What each peer prints for one finding."""


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_findings_are_counted_in_the_format_of_the_peer(peer: object) -> None:
    known = next(one for one in PEERS if one is peer)

    assert count(known.finding, SAID[known.name].encode()) == 1
    assert count(known.finding, (SAID[known.name] + "\n" + SAID[known.name]).encode()) == 2
    assert count(known.finding, b"no findings\nplanted.py\n") == 0


def test_peers_are_pinned_and_named_once() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS) == len(SAID)
    assert all(peer.requirement.count("==") == 1 for peer in PEERS)


def test_planted_file_is_python() -> None:
    compile(PLANTED, "planted.py", "exec")


def tool(code: str, tree: Path) -> Command:
    return Command([sys.executable, "-c", code], tree, dict(os.environ))


def test_peer_that_reports_nothing_planted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="dummy reports nothing where something is planted"):
        run("dummy", "", "^finding", tool("print('all good')", tmp_path), tmp_path)


def test_run_has_cost_and_findings_of_the_tree_and_not_of_the_planted_file(tmp_path: Path) -> None:
    planted, tree = tmp_path / "planted", tmp_path / "tree"
    for folder, names in ((planted, "a"), (tree, "abc")):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.py").touch()
    code = "import os\nfor name in os.listdir('.'): print('finding', name)"

    found = run("dummy", "what it does", "^finding", tool(code, tree), planted)

    assert (found["tool"], found["about"], found["findings"]) == ("dummy", "what it does", 3)
    assert found["seconds"] > 0
