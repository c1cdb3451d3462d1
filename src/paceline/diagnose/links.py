"""The measured links of a cluster, as a report shows them."""

from paceline.model import Cluster, MeasuredLink


def links(cluster: Cluster | None) -> tuple[MeasuredLink, ...]:
    """Links whose rate is known."""
    return tuple(
        MeasuredLink(
            a=link.a,
            b=link.b,
            bytes_per_s=link.bytes_per_s,
            latency_ns=link.latency_ns,
            interval_bytes_per_s=link.interval_bytes_per_s,
        )
        for link in (cluster.links if cluster is not None else ())
        if link.bytes_per_s is not None
    )
