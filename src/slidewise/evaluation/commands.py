"""`slidewise bench paper`: run the experiments, judge the claims, draw the figures and write the report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from slidewise.evaluation.report.claims import Claim, claims_of
from slidewise.evaluation.report.figures import draw_all
from slidewise.evaluation.report.page import where, write_report
from slidewise.evaluation.report.summary import Results
from slidewise.evaluation.run import elapsed_since, run
from slidewise.evaluation.settings import OTHERS, ExperimentSettings, full, memory_of_machine, quick


@dataclass(frozen=True)
class BenchOptions:
    """The options of the command line."""

    out: Path
    quick: bool = False
    resume: bool = False
    data: str | None = None
    floats: bool = False
    others: bool = False

    def settings(self) -> ExperimentSettings:
        memory = memory_of_machine()
        settings = quick(memory) if self.quick else full(memory)
        if self.data is not None:
            settings = replace(settings, data=str(Path(self.data).resolve()))
        if self.floats:
            settings = replace(settings, operators=(*settings.operators, "sum of floats"))
        if self.others:
            settings = replace(settings, others=OTHERS, operators=(*settings.operators, "max"))
        return settings


def bench_paper(options: BenchOptions, console: Console | None = None) -> list[Claim]:
    """Run what is not done, and write the report."""
    return evaluate(options.out, options.settings(), options.resume, console or Console(highlight=False))


def evaluate(
    folder: Path, settings: ExperimentSettings, resume: bool, console: Console, processes: int | None = None
) -> list[Claim]:
    """Run with these settings, and write the report."""
    began = perf_counter()
    results = Results(run(folder, settings, resume, console, processes))
    claims = claims_of(results)
    figures = draw_all(results, folder / "figures")
    report = write_report(folder, results, claims, figures)
    table = Table("statement", "verdict", "figures", box=SIMPLE_HEAD)
    for claim in claims:
        table.add_row(claim.statement, claim.verdict, claim.figures)
    console.print(table)
    console.print(where(results), soft_wrap=True)
    console.print(f"took {elapsed_since(began)}")
    console.print(f"report   {report}", soft_wrap=True)
    console.print(f"figures  {folder / 'figures'}", soft_wrap=True)
    console.print(f"raw      {folder / 'raw'}", soft_wrap=True)
    return claims
