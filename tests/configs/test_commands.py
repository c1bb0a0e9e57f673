"""The commands of a shell text, as launchers are written."""

from __future__ import annotations

import time

import pytest

from shardlint.configs.commands import UNKNOWN, commands

CASES = {
    "continued": ("torchrun \\\n  --nnodes 1 \\\n  train.py a.yaml\n", ["torchrun --nnodes 1 train.py a.yaml"]),
    "environment": ("A=1 B='x y' python t.py a.yaml", ["python t.py a.yaml"]),
    "comments": ("# python no.py\npython t.py  # a.yaml\npython t.py a#b", ["python t.py", "python t.py a#b"]),
    "quotes": ("python t.py 'a b' \"c d\" e\\ f", ["python|t.py|a b|c d|e f"]),
    "operators": ("a x && b y || c z; d & e | f", ["a x", "b y", "c z", "d", "e", "f"]),
    "redirected": ("python t.py a.yaml > out.log 2>&1 < in.txt", ["python t.py a.yaml"]),
    "variable": ('C=a.yaml\npython t.py $C ${C} "$C"', ["python t.py a.yaml a.yaml a.yaml"]),
    "exported": ("export C=a.yaml\npython t.py $C", ["python t.py a.yaml"]),
    "default": ("python t.py ${C:=a.yaml} ${D:-'b'}", ["python t.py a.yaml b"]),
    "default of a set one": ("C=b.yaml\npython t.py ${C:-a.yaml}", ["python t.py b.yaml"]),
    "single quotes keep": ("C=a\npython t.py '$C'", ["python t.py $C"]),
    "split": ("ARGS='--config a.yaml'\npython t.py $ARGS", ["python t.py --config a.yaml"]),
    "not split": ("ARGS='--config a.yaml'\npython t.py \"$ARGS\"", ["python|t.py|--config a.yaml"]),
    "array": (
        'ARGS=(\n  --config a.yaml # why\n  --lr "1 2"\n)\nARGS+=(--more)\npython t.py "${ARGS[@]}"',
        ["python|t.py|--config|a.yaml|--lr|1 2|--more"],
    ),
    "appended text": ("A=x\nA+=' y'\npython $A", ["python x y"]),
    "loop": (
        "for m in a b; do\n  python t.py c/$m.yaml\ndone\npython $m",
        ["python t.py c/a.yaml c/b.yaml", "python ?"],
    ),
    "branch": (
        "if [ -f x ]; then C=a; python $C; else C=b; fi\npython $C",
        ["[ -f x ]", "python a", "python ?"],
    ),
    "case": ('case "$1" in\n  a) C=a; python $C ;;\n  b) python $C ;;\nesac', ["a", "python a", "b", "python ?"]),
    "own arguments": ('python t.py "$1" $@ $(date) `date`', ["python t.py ? ? ? ?"]),
    "unknown within": ("python $HOME/t.py $D/a.yaml", ["python ?/t.py ?/a.yaml"]),
    "substitution in quotes": ('python t.py "log/$(basename "$x").txt"', ["python t.py log/?.txt"]),
    "here-document": ("cat > r.sh <<'E'\npython no.py\nE\npython t.py", ["cat", "python t.py"]),
    "inner text": ('srun bash -lc "python t.py a.yaml"', ["python t.py a.yaml"]),
    "evaluated": ('C="python t.py a.yaml"\neval "$C"\n$C', ["python t.py a.yaml", "python t.py a.yaml"]),
    "prompt": ("$ python t.py a.yaml", ["python t.py a.yaml"]),
    "function": ('run() {\n  python t.py "$1"\n}\nrun a.yaml', ["run", "python t.py ?", "run a.yaml"]),
    "windows line ends": ("python t.py \\\r\n  a.yaml\r\n", ["python t.py a.yaml"]),
    "unclosed": ("python 'x\npython t.py", ["python|'x", "python t.py"]),
}


@pytest.mark.parametrize(("text", "wanted"), CASES.values(), ids=CASES.keys())
def test_words_are_those_that_would_run(text: str, wanted: list[str]) -> None:
    found = [one.words for one in commands(text)]
    given = [tuple(line.replace("?", UNKNOWN).split("|" if "|" in line else " ")) for line in wanted]
    assert found == given


def test_a_command_knows_its_place_and_its_folder() -> None:
    text = "# head\nA=1 python a.py\ncd examples && cd x\nif true; then\n  python \\\n b.py\nfi\n"
    found = [(one.words[-1], one.line, one.column, one.folder) for one in commands(text)]
    assert found == [("a.py", 2, 5, ""), ("true", 4, 4, "examples/x"), ("b.py", 5, 3, "examples/x")]


@pytest.mark.parametrize(
    "text",
    [
        '"$(a)"' * 20_000,
        '"$(a)$(' * 20_000,
        "$(" * 50_000,
        "a=(" * 30_000,
        "${a:-" * 30_000,
        "<<E\n" * 30_000,
        "a=$a$a\n" * 5_000,
        "for a in b; do " * 9_999,
        'bash -c "bash -c x"; ' * 5_000,
        "a='" + "x " * 1_900 + "'\n" + 'p "$a$a" $a\n' * 2_000,
    ],
)
def test_a_hostile_text_is_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    for one in commands(text):
        assert len(one.words) <= 1_000
    assert time.process_time() - started < 10
