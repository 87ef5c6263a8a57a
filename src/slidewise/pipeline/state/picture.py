"""A checkpoint's contents as a picture: bytes by key, how many keys are of which size, and waiting rows over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slidewise.errors import SlidewiseError
from slidewise.pipeline.state.text import shown_bytes, shown_key

_KEYS, _SIZES, _WAITING = "#2a6fbb", "#2f8f5b", "#d9822b"


def write_picture(found: dict[str, Any], path: Path) -> None:
    """Write the picture of what `look` gave, as PNG or SVG, over what may be there."""
    if "total" not in found:
        raise SlidewiseError("--plot draws what the checkpoint holds, which --key and --check do not; leave these out")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    total = found["total"]
    figure = Figure(figsize=(12, 4.2), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    keys, sizes, waiting = figure.subplots(1, 3)
    largest = total["largest"][::-1]
    keys.barh([shown_key(each["key"])[:40] for each in largest], [each["bytes"] for each in largest], color=_KEYS)
    keys.set_title(f"the largest of {total['keys']:,} keys, in bytes", loc="left", fontsize=10, parse_math=False)
    bins = total["keys_by_bytes"]
    sizes.bar([f"≤ {shown_bytes(each['up_to'])}" for each in bins], [each["keys"] for each in bins], color=_SIZES)
    sizes.set_title("keys by their bytes", loc="left", fontsize=10)
    counts = total["waiting"]["over_time"]
    waiting.bar(range(len(counts)), counts, color=_WAITING, width=0.9)
    waiting.set_title(f"{total['waiting']['rows']:,} waiting rows over time", loc="left", fontsize=10)
    if counts:
        places = [0, len(counts) // 2, len(counts) - 1]
        waiting.set_xticks(places, [str(found["waiting_from"][place])[5:19] for place in places])
    for axis in (keys, sizes, waiting):
        axis.grid(alpha=0.25, linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    sizes.tick_params(axis="x", rotation=45)
    try:
        figure.savefig(path)
    except OSError as error:
        raise SlidewiseError(f"the picture {path} cannot be written: {error}") from error
