"""Metrics of memory and the model: the same as for Prometheus, as JSON."""

from __future__ import annotations

from django.utils import timezone
from ninja import Router, Schema

from chat.statistics.metrics import collect_metrics

from .common import ApiRequest

router = Router(tags=["metrics"])


class SampleOut(Schema):
    """One value with its labels."""

    name: str
    labels: dict[str, str]
    value: float


class MetricOut(Schema):
    """A metric with its samples; the type is gauge or counter."""

    name: str
    help: str
    type: str
    samples: list[SampleOut]


@router.get("", response=list[MetricOut])
def get_metrics(request: ApiRequest) -> list[MetricOut]:
    """Return present totals, numbers of the last 24 hours, and counters of the model."""
    return [
        MetricOut(
            name=family.name,
            help=family.documentation,
            type=family.type,
            samples=[SampleOut(name=s.name, labels=s.labels, value=s.value) for s in family.samples],
        )
        for family in collect_metrics(request.auth, timezone.now())
    ]
