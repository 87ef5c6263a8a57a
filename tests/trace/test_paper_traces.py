"""Traces against the paper: sections 3 to 6, by the steps (A), (B) ... of its figures."""

from __future__ import annotations

from typing import Any

import pytest

from slidewise.trace import record

# Seven values go in, two leave, seven more come in: the rows a to n of the figures. The paper gives 4 5 3 4 0 4 4 2 6.
FIGURES = "insert 4 5 3 4 0 4 4; evict 2; insert 2 6 6 1 3 2 2"

Step = dict[str, Any]


def steps_of(algorithm: str, operator: str = "concat") -> dict[str, Step]:
    [recording] = record(algorithm, FIGURES, operator)["recordings"]
    return {step["label"]: step for step in recording["steps"]}


def texts(step: Step, field: str = "") -> list[str]:
    return [one["text"] for cell in step["shape"]["cells"] for one in cell["fields"] if one["name"] == field]


def extra(step: Step) -> dict[str, str]:
    return {one["name"]: one["text"] for one in step["shape"]["extra"]}


def parts(step: Step) -> str:
    return "".join(cell["part"] for cell in step["shape"]["cells"])


def positions(step: Step) -> dict[str, int]:
    """The pointers as positions that never move: the places in the window, and the rows that have left before it."""
    return {name: step["first"] + place for name, place in step["shape"]["pointers"].items()}


@pytest.mark.parametrize("algorithm", ["two-stacks", "two-stacks-lite", "daba", "daba-lite"])
def test_section_2_the_running_example(algorithm: str) -> None:
    steps = steps_of(algorithm, "maxcount")
    windows = {label: " ".join(row["value"] for row in step["window"]) for label, step in steps.items()}
    assert [(windows[at], steps[at]["partial"]["text"]) for at in "HIJKL"] == [
        ("4 5 3 4 0 4 4", "5×1"),
        ("5 3 4 0 4 4", "5×1"),
        ("3 4 0 4 4", "4×3"),
        ("3 4 0 4 4 2", "4×3"),
        ("3 4 0 4 4 2 6", "6×1"),
    ]
    assert [steps[at]["answer"] for at in "HIJKL"] == ["1", "1", "3", "3", "1"]


@pytest.mark.parametrize("algorithm", ["two-stacks", "two-stacks-lite"])
def test_sections_3_and_4_the_flip_from_h_to_i(algorithm: str) -> None:
    steps = steps_of(algorithm)
    for label in "BCDEFGH":  # seven inserts deposit seven coins
        assert steps[label]["cases"] == ["push"]
    coins = {label: sum(cell.get("coin", False) for cell in step["shape"]["cells"]) for label, step in steps.items()}
    assert (coins["H"], steps["H"]["shape"]["pointers"]) == (7, {"F": 0, "B": 0, "E": 7})
    assert (coins["I"], steps["I"]["shape"]["pointers"]) == (0, {"F": 0, "B": 6, "E": 6})
    assert steps["I"]["cases"] == ["flip", "pop"]
    assert steps["J"]["cases"] == ["pop"]
    # The paper calls ⊗ once for each of the 7 rows, the first time with the identity, which no algorithm here does.
    assert [len(steps[label]["calls"]) for label in "BHIJK"] == [0, 1, 6, 0, 0]
    assert all(parts(step) == "F" * step["shape"]["pointers"]["B"] + "B" * coins[at] for at, step in steps.items())


def test_section_3_two_stacks_aggregates_outwards() -> None:
    steps = steps_of("two-stacks")
    assert texts(steps["H"], "val") == list("abcdefg")
    assert texts(steps["H"], "agg") == ["a", "ab", "abc", "abcd", "ab..e", "ab..f", "ab..g"]
    assert texts(steps["I"], "val") == list("bcdefg")
    assert texts(steps["I"], "agg") == ["bc..g", "cd..g", "defg", "efg", "fg", "g"]
    last = steps["Q"]
    assert texts(last, "agg") == [
        "cd..g",
        "defg",
        "efg",
        "fg",
        "g",
        "h",
        "hi",
        "hij",
        "hijk",
        "hi..l",
        "hi..m",
        "hi..n",
    ]


def test_section_3_the_query_joins_4x3_and_6x2() -> None:
    for algorithm in ("two-stacks", "two-stacks-lite"):
        [call] = steps_of(algorithm, "maxcount")["M"]["query"]
        assert [call[name]["text"] for name in ("left", "right", "gives")] == ["4×3", "6×2", "6×2"]


def test_section_4_two_stacks_lite_with_five_rows_in_front_and_seven_behind() -> None:
    last = steps_of("two-stacks-lite")["Q"]
    assert texts(last) == ["cd..g", "defg", "efg", "fg", "g", *"hijklmn"]
    assert last["shape"]["pointers"] == {"F": 0, "B": 5, "E": 12}
    assert extra(last) == {"aggB": "hi..n"}


@pytest.mark.parametrize("algorithm", ["daba", "daba-lite"])
def test_section_5_the_sequences_of_cases(algorithm: str) -> None:
    steps = list(steps_of(algorithm).values())
    labels = [step["label"] for step in steps]

    def cases_from(label: str, count: int) -> list[str]:
        return [case for step in steps[labels.index(label) + 1 :] for case in step["cases"]][:count]

    assert cases_from("A", 1) == ["singleton"]
    assert cases_from("B", 3) == ["flip", "shrink", "shift"]
    assert cases_from("D", 5) == ["flip", "shrink", "shrink", "shift", "shift"]
    assert cases_from("H", 7) == ["flip", *["shrink"] * 3, *["shift"] * 3]
    assert cases_from("N", 2) == ["flip", "shrink"]


# From the pseudo-code, by hand: F L R A B E after each step, as positions; a is 0 and n is 13.
POINTERS = {
    "A": (0, 0, 0, 0, 0, 0),
    "B": (0, 1, 1, 1, 1, 1),  # singleton
    "C": (0, 1, 1, 1, 2, 2),  # flip to L 0, R 1, A B 2; shrink
    "D": (0, 2, 2, 2, 2, 3),  # shift
    "E": (0, 1, 2, 3, 4, 4),  # flip to L 0, R 2, A B 4; shrink
    "F": (0, 2, 2, 2, 4, 5),  # shrink
    "G": (0, 3, 3, 3, 4, 6),  # shift
    "H": (0, 4, 4, 4, 4, 7),  # shift
    "I": (1, 2, 4, 6, 7, 7),  # flip to L 1, R 4, A B 7; shrink: l_L and l_R go from 3 to 2
    "J": (2, 3, 4, 5, 7, 7),  # shrink from 2 to 1
    "K": (2, 4, 4, 4, 7, 8),
    "L": (2, 5, 5, 5, 7, 9),
    "M": (2, 6, 6, 6, 7, 10),
    "N": (2, 7, 7, 7, 7, 11),
    "O": (2, 3, 7, 11, 12, 12),  # flip to L 2, R 7, A B 12; shrink
    "P": (2, 4, 7, 10, 12, 13),
    "Q": (2, 5, 7, 9, 12, 14),
}


@pytest.mark.parametrize("algorithm", ["daba", "daba-lite"])
def test_sections_5_and_6_the_pointers_step_by_step(algorithm: str) -> None:
    steps = steps_of(algorithm)
    assert {at: tuple(positions(step)[p] for p in "FLRABE") for at, step in steps.items() if at != "A"} == {
        at: pointers for at, pointers in POINTERS.items() if at != "A"
    }
    for before, step in zip(list(steps.values())[1:], list(steps.values())[2:], strict=False):
        if "flip" not in step["cases"]:  # "within each cycle, pointer B always stays the same"
            assert positions(step)["B"] == positions(before)["B"]
        if step["cases"] == ["shrink"]:  # "during the shrink phase, pointer R does not change"
            assert positions(step)["R"] == positions(before)["R"]


def test_section_5_the_invariants_of_c_to_n() -> None:
    last = steps_of("daba")["Q"]
    assert parts(last) == "FFFLLRRAAABB"
    assert texts(last, "val") == list("cdefghijklmn")
    assert texts(last, "agg") == [
        *("cd..l", "de..l", "ef..l"),
        *("fg", "g"),
        *("h", "hi"),
        *("jkl", "kl", "l"),
        *("m", "mn"),
    ]


def test_section_6_the_invariants_of_c_to_n() -> None:
    last = steps_of("daba-lite")["Q"]
    assert parts(last) == "FFFLLRRAAABB"
    assert texts(last) == ["cd..l", "de..l", "ef..l", "fg", "g", "h", "i", "jkl", "kl", "l", "m", "n"]
    assert extra(last) == {"aggRA": "hi..l", "aggB": "mn"}


def test_section_6_agg_b_with_maxcount() -> None:
    steps = steps_of("daba-lite", "maxcount")
    assert [extra(steps[label])["aggB"] for label in "EFGH"] == ["", "0×1", "4×1", "4×2"]
    assert (extra(steps["I"])["aggRA"], extra(steps["I"])["aggB"]) == ("4×2", "")


def test_section_6_a_shrink_takes_one_call_less_than_in_section_5() -> None:
    shrinks = 0
    for daba, lite in zip(steps_of("daba").values(), steps_of("daba-lite").values(), strict=True):
        if daba["cases"] == ["shrink"] and len(daba["calls"]) >= 3:
            assert len(lite["calls"]) == len(daba["calls"]) - 1
            shrinks += 1
        assert len(daba["calls"]) <= (4 if daba["operation"] and daba["operation"]["name"] == "insert" else 3)
        assert len(lite["calls"]) <= (3 if lite["operation"] and lite["operation"]["name"] == "insert" else 2)
    assert shrinks >= 3
