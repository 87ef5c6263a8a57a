"""What a server of metrics gives, read as Prometheus reads it."""

from __future__ import annotations

import urllib.request
from typing import Any

from prometheus_client.parser import text_string_to_metric_families


def scraped(address: str) -> dict[str, Any]:
    """The samples that a server gives, as Prometheus' own parser reads them; types by the names of families."""
    with urllib.request.urlopen(address, timeout=60) as response:
        families = list(text_string_to_metric_families(response.read().decode()))
    samples = {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}
    return {"types": {family.name: family.type for family in families}, "samples": samples}
