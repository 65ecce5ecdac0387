"""Numbers about memory and the model: the same that Prometheus gets, as JSON."""

from __future__ import annotations

from django.utils import timezone
from ninja import Router, Schema

from chat.statistics.metrics import families

from .common import Request

router = Router(tags=["metrics"])


class SampleOut(Schema):
    """One number, and what it is of."""

    name: str
    labels: dict[str, str]
    value: float


class MetricOut(Schema):
    """What is counted; a gauge may fall, a counter never does."""

    name: str
    help: str
    type: str
    samples: list[SampleOut]


@router.get("", response=list[MetricOut])
def get_metrics(request: Request) -> list[MetricOut]:
    """Tell how much there is, what the last 24 hours brought, and what the model has done."""
    return [
        MetricOut(
            name=family.name,
            help=family.documentation,
            type=family.type,
            samples=[SampleOut(name=s.name, labels=s.labels, value=s.value) for s in family.samples],
        )
        for family in families(request.auth, timezone.now())
    ]
