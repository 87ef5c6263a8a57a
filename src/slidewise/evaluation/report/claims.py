"""The paper's claims about its experiments, each confirmed, refuted or not clear by this run."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from statistics import geometric_mean
from typing import NamedTuple

from slidewise.evaluation.report.summary import (
    CONSTANT,
    GROWS,
    Curve,
    Latency,
    Results,
    Speed,
    growth_of_calls,
    growth_of_time,
)

CONFIRMED, REFUTED, NOT_CLEAR = "confirmed", "refuted", "not clear"
BULK = 100  # rows that leave at once
SPIKING, STEADY = ("TwoStacks", "TwoStacksLite", "FlatFit"), ("Daba", "DabaLite")


@dataclass(frozen=True)
class Claim:
    """A statement, the verdict, and the figures behind it."""

    statement: str
    verdict: str
    figures: str


def claims_of(results: Results) -> list[Claim]:
    """The table; a statement whose experiments were not run is not clear."""
    claims = [_lite(results, "DabaLite", "Daba"), _lite(results, "TwoStacksLite", "TwoStacks")]
    claims += [_calls(results, SPIKING, GROWS), _calls(results, STEADY, CONSTANT)]
    for operator in operators_of(results):
        claims += [_times(results, operator, SPIKING, GROWS), _times(results, operator, STEADY, CONSTANT)]
    claims += [_best(results), _fit(results), _minimum(results), _flat(results), _bulk(results), _fiba(results)]
    return claims


def operators_of(results: Results) -> list[str]:
    """The operators that the paper speaks of."""
    return [operator for operator in results.settings.operators if operator != "max"]


def _speeds(results: Results, workload: str) -> Curve:
    """The speeds of what the paper speaks of."""
    curve, names = results.speeds(workload), results.settings.algorithms
    return {key: speed for key, speed in curve.items() if key[0] != "max" and key[1] in names}


def _latencies(results: Results, operator: str) -> dict[str, Latency]:
    """The latency of the paper's algorithms."""
    latencies = results.latencies("latency")
    names = results.settings.algorithms
    return {name: latency for (of, name, _), latency in latencies.items() if of == operator and name in names}


class Comparison(NamedTuple):
    """Two algorithms in one setting: how many times as fast the first is, and whether their repetitions lie apart."""

    ratio: float
    ratio_of_fastest: float  # of the fastest repetitions
    apart: bool


def _compare(first: Speed, second: Speed) -> Comparison:
    apart = first.most < second.least or second.most < first.least
    return Comparison(second.median / first.median, second.least / first.least, apart)


def _comparisons(curve: Curve, over: str, under: str) -> list[Comparison]:
    """All settings in which both were run."""
    return [
        _compare(speed, curve[operator, under, n])
        for (operator, algorithm, n), speed in curve.items()
        if algorithm == over and (operator, under, n) in curve
    ]


def _lite(results: Results, lite: str, original: str) -> Claim:
    cells = [
        cell
        for workload in ("throughput", "fill and drain", "events")
        for cell in _comparisons(_speeds(results, workload), lite, original)
    ]
    statement = f"{lite} has a higher throughput than {original}, always."
    return Claim(statement, *_always(cells, results.settings.repetitions))


def _always(cells: list[Comparison], repetitions: int) -> tuple[str, str]:
    """The verdict on "faster, always".

    A setting counts against it where the repetitions of both lie apart. Of equal algorithms that happens by chance,
    too, in one of comb(2r, r) settings with r repetitions; so it takes more than twice as many to refute.
    """
    if not cells:
        return NOT_CLEAR, "not run"
    ratios, fastest = [cell.ratio for cell in cells], [cell.ratio_of_fastest for cell in cells]
    ahead = sum(ratio > 1 for ratio in ratios)
    against = sum(cell.ratio < 1 and cell.apart for cell in cells)
    chance = len(cells) / comb(2 * repetitions, repetitions)
    figures = (
        f"{geometric_mean(ratios):.2f} times as fast on average ({min(ratios):.2f} to {max(ratios):.2f}), by the "
        f"fastest repetitions {geometric_mean(fastest):.2f} ({min(fastest):.2f} to {max(fastest):.2f}); ahead in "
        f"{ahead} of {len(cells)} settings, behind beyond the spread of repetitions in "
        f"{against} (chance alone: {chance:.1f})"
    )
    if ahead == len(cells):
        return CONFIRMED, figures
    return (REFUTED if against > 2 * chance else NOT_CLEAR), figures


def _calls(results: Results, algorithms: tuple[str, ...], expected: str) -> Claim:
    small, large = results.settings.growth
    names = [name for name in algorithms if name in results.settings.algorithms]
    verdicts, figures = [], []
    for name in names:
        few, many = results.worst_calls(name, small), results.worst_calls(name, large)
        verdicts.append(growth_of_calls(few, many))
        figures.append(f"{name} {few} to {many}" if few is not None else f"{name} not counted")
    growth = "grows with n" if expected == GROWS else "does not grow with n"
    return Claim(
        f"{_and(names)}: the worst round's number of calls {growth}.",
        _agreed(verdicts, expected),
        f"most calls of a round, n = {small:,} to {large:,}: " + ", ".join(figures),
    )


def _times(results: Results, operator: str, algorithms: tuple[str, ...], expected: str) -> Claim:
    latency = {(name, n): times for (of, name, n), times in results.latencies("growth").items() if of == operator}
    names = [name for name in algorithms if name in results.settings.algorithms]
    small, large = min((n for _, n in latency), default=0), max((n for _, n in latency), default=0)
    verdicts, figures = [], []
    for name in names:
        few, many = latency.get((name, small)), latency.get((name, large))
        if few is None or many is None:
            verdicts.append(NOT_CLEAR)
            continue
        verdicts.append(growth_of_time(few.longest_in_all, many.longest_in_all, large / small))
        figures.append(f"{name} {time_text(few.longest_in_all)} to {time_text(many.longest_in_all)}")
    growth = "grows with n" if expected == GROWS else "does not grow with n"
    return Claim(
        f"{_and(names)}: the longest latency {growth}, for {operator}.",
        _agreed(verdicts, expected),
        f"longest round that all repetitions had, n = {small:,} to {large:,}: " + ", ".join(figures)
        if figures
        else "not run",
    )


def _agreed(verdicts: list[str], expected: str) -> str:
    if not verdicts:
        return NOT_CLEAR
    if all(verdict == expected for verdict in verdicts):
        return CONFIRMED
    return REFUTED if any(verdict not in (expected, NOT_CLEAR) for verdict in verdicts) else NOT_CLEAR


def _unanimous(verdicts: list[bool]) -> str:
    """Confirmed where a claim holds for all operators, refuted where it holds for none."""
    if not verdicts:
        return NOT_CLEAR
    return CONFIRMED if all(verdicts) else REFUTED if not any(verdicts) else NOT_CLEAR


def _best(results: Results) -> Claim:
    curve = _speeds(results, "throughput")
    ratios = [cell.ratio for cell in _comparisons(curve, "TwoStacksLite", "DabaLite")]
    cells = {(operator, n) for operator, _, n in curve}
    fastest = sum(
        min((s.median, name) for (o, name, size), s in curve.items() if (o, size) == cell)[1] == "TwoStacksLite"
        for cell in cells
    )
    verdict = NOT_CLEAR if not ratios else CONFIRMED if fastest * 2 > len(cells) else REFUTED
    figures = "not run"
    if ratios:
        figures = (
            f"the fastest in {fastest} of {len(cells)} settings; DabaLite reaches "
            f"{1 / geometric_mean(ratios):.0%} of its throughput ({1 / max(ratios):.0%} to {1 / min(ratios):.0%})"
        )
    return Claim("TwoStacksLite tends to have the best throughput on static windows.", verdict, figures)


def _fit(results: Results) -> Claim:
    statement = "FlatFit has the best throughput for bloom on fill and drain, consistently."
    curve = {key: speed for key, speed in _speeds(results, "fill and drain").items() if key[0] == "bloom"}
    cells = []
    for (_, name, n), speed in curve.items():
        others = [other for (_, peer, size), other in curve.items() if size == n and peer != "FlatFit"]
        if name == "FlatFit" and others and n > 1:
            cells.append(_compare(speed, min(others, key=lambda other: other.median)))
    verdict, figures = _always(cells, results.settings.repetitions)
    return Claim(statement, verdict, figures + (", against the fastest other, n from 2 on" if cells else ""))


def _minimum(results: Results) -> Claim:
    verdicts, figures = [], []
    for operator in operators_of(results):
        latencies = _latencies(results, operator)
        if not {"TwoStacksLite", "DabaLite"} <= set(latencies):
            continue
        two, daba = latencies["TwoStacksLite"], latencies["DabaLite"]
        verdicts.append(two.least <= daba.least and two.longest_in_all >= 10 * daba.longest_in_all)
        figures.append(
            f"{operator}: least {time_text(two.least)} against {time_text(daba.least)}, longest in all repetitions "
            f"{time_text(two.longest_in_all)} against {time_text(daba.longest_in_all)}"
        )
    return Claim(
        "TwoStacksLite has a lower least latency than DabaLite, and a longest one ten times as high or more.",
        _unanimous(verdicts),
        "; ".join(figures) or "not run",
    )


def _flat(results: Results) -> Claim:
    """Between n = 16 and the largest n: the slowest by the fastest of an algorithm's medians."""
    curve = _speeds(results, "throughput")
    worst: dict[str, float] = {}
    for name in results.settings.algorithms:
        for operator in operators_of(results):
            medians = [s.median for (o, a, n), s in curve.items() if (o, a) == (operator, name) and n >= 16]
            if medians:
                worst[name] = max(worst.get(name, 0), max(medians) / min(medians))
    figures = ", ".join(f"{name} {ratio:.1f}" for name, ratio in worst.items())
    verdict = NOT_CLEAR
    if worst:
        verdict = CONFIRMED if max(worst.values()) <= 2 else REFUTED if min(worst.values()) > 4 else NOT_CLEAR
    return Claim(
        "Throughput is close to constant in n for all algorithms (here: within a factor of 2 from n = 16 on).",
        verdict,
        f"slowest by fastest over n, the worst operator: {figures}" if figures else "not run",
    )


def _bulk(results: Results) -> Claim:
    """Of the longest rounds that all repetitions had, which had many rows leave?"""
    first: dict[str, tuple[float, int]] = {}
    for row in results.worst:
        if row["workload"] == "events latency" and row["algorithm"] in results.settings.algorithms:
            first[row["algorithm"]] = max(first.get(row["algorithm"], (0.0, 0)), (row["ns"], row["evicted"]))
    figures = ", ".join(f"{name} {time_text(ns)} ({gone:,} left)" for name, (ns, gone) in first.items())
    bulk = [gone > BULK for _, gone in first.values()]
    verdict = NOT_CLEAR if not bulk else CONFIRMED if all(bulk) else REFUTED
    return Claim(
        f"On event-time windows the longest rounds are those in which more than {BULK} rows leave, for all algorithms.",
        verdict,
        f"longest round that all repetitions had, and how many rows left in it: {figures}" if figures else "not run",
    )


def _fiba(results: Results) -> Claim:
    """FiBA has the highest median, and a longest round below those that are linear in n."""
    verdicts, figures = [], []
    for operator in operators_of(results):
        latencies = _latencies(results, operator)
        if "Fiba" not in latencies or "TwoStacks" not in latencies:
            continue
        fiba, two = latencies["Fiba"], latencies["TwoStacks"]
        middle = max((latency.percentiles[0], name) for name, latency in latencies.items())[1]
        verdicts.append(middle in ("Fiba", "FlatFit") and fiba.longest_in_all < two.longest_in_all)
        figures.append(
            f"{operator}: median {time_text(fiba.percentiles[0])}, longest {time_text(fiba.longest_in_all)} against "
            f"{time_text(two.longest_in_all)}"
        )
    return Claim(
        "Fiba has a high median latency, and a longest one below that of TwoStacks.",
        _unanimous(verdicts),
        "; ".join(figures) or "not run",
    )


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def time_text(ns: float) -> str:
    """A time in the unit that suits it.

    >>> time_text(35.2), time_text(4_200), time_text(3_000_000)
    ('35 ns', '4.2 µs', '3.0 ms')
    """
    if ns < 1_000:
        return f"{ns:.0f} ns"
    return f"{ns / 1e3:.1f} µs" if ns < 1e6 else f"{ns / 1e6:.1f} ms"
