"""Makes a worker, a kind of op, a layer or a link `factor` times as fast.

Several selectors intersect. Without kind and link it is the workers' own work (compute, copies,
loading, host) and their leads, since a slow host is slow between ops as well; `kind` takes whole
durations of that kind, and host the leads of all ops; `link` takes the part of transfers that grows
with their size. Leads of ops that wait for nothing stay: they say when a worker entered the step.
"""

import dataclasses

import numpy as np

from paceline.model import I64, KINDS, Edit, InputError, Kind
from paceline.rewrite.gain import Gains, gains, quicker
from paceline.rewrite.key import Key, Takes, number, word
from paceline.rewrite.link import Faster, faster
from paceline.rewrite.select import Mask, names_nothing, selected
from paceline.rewrite.state import State, awaits_nothing, talks, whole_ns
from paceline.rewrite.transfer_law import lawful

NAME: str = "speed"
KEYS: tuple[Key, ...] = (
    Key(name="worker", takes=Takes.WORKER, says="the ops of this worker"),
    Key(name="link", takes=Takes.WORD, says="all, or the two ends of a link as A-B"),
    Key(name="kind", takes=Takes.WORD, says="ops of this kind", one_of=tuple(KINDS)),
    Key(name="layer", takes=Takes.WORD, says="the ops of this layer and of layers inside it"),
    Key(
        name="factor",
        takes=Takes.FACTOR,
        says="multiplies the rate; 2 halves the time",
        required=True,
    ),
)
SAYS: str = "Makes a worker, a kind of op, a layer or a link faster or slower."


def apply(state: State, edit: Edit) -> State:
    """The state whose chosen ops take their time divided by the factor."""
    if all(edit.get(key.name) is None for key in KEYS if not key.required):
        raise InputError(
            "says nothing of what is to be faster.",
            where=edit,
            expected="It needs worker=, link=, kind= or layer=.",
        )
    factor, link, kind = number(edit, "factor"), word(edit, "link"), word(edit, "kind")
    if link is not None:
        mask = selected(state.graph, edit)
        return _with_links(state, edit, mask, faster(state, edit, link, factor))
    if kind == "host":
        own, led = _of_host(state, edit)
    elif kind is not None:
        own = selected(state.graph, edit)
        led = np.zeros_like(own)
    else:
        led = selected(state.graph, edit)
        own = led & ~talks(state.graph)
    led = led & ~awaits_nothing(state.graph)
    if (state.times.duration_ns[own] < 0).any():
        raise _follows_from_links(edit)
    return state.timed(
        duration_ns=_divided(state.times.duration_ns, own, factor, edit),
        lead_ns=_divided(state.times.lead_ns, led, factor, edit),
    )


def _of_host(state: State, edit: Edit) -> tuple[Mask, Mask]:
    """Host ops, and the ops whose leads are the host's time: all."""
    led = selected(state.graph, edit, of_any_kind=True)
    own = led & (state.graph.kind == Kind.HOST)
    if not own.any() and not state.times.lead_ns[led].any():
        raise names_nothing(
            edit, "there is no host op and no lead", "Host work is recorded with the host's lanes."
        )
    return own, led


def _divided(times: I64, mask: Mask, factor: float, edit: Edit) -> I64:
    with np.errstate(over="ignore"):
        values = times[mask] / factor
    out = times.copy()
    out[mask] = whole_ns(values, edit)
    return out


def _with_links(state: State, edit: Edit, mask: Mask, links: Faster) -> State:
    laws = lawful(state)
    found = gains(state, laws, links)
    duration = state.times.duration_ns
    waits_for_cluster = mask & talks(state.graph) & (duration < 0)
    alone = all(edit.get(name) is None for name in ("worker", "kind", "layer"))
    if waits_for_cluster.any() and not (alone and links.cluster):
        raise _follows_from_links(edit)
    uses = mask & found.uses
    told = uses & ~np.isnan(found.rate)
    if not uses.any() and not waits_for_cluster.any():
        raise names_nothing(
            edit, "no transfer uses this link", "It speeds up messages and collectives."
        )
    if uses.any() and not told.any():
        raise InputError(
            "which link holds up its collectives is not known.",
            where=edit,
            expected="Its groups reach beyond the two ends of this link.",
            cure="Give a cluster file with the rates of the links.",
        )
    some = told & (duration > 0)
    latency = np.nan_to_num(found.latency[some], nan=0.0)
    becomes = duration.copy()
    with np.errstate(over="ignore"):
        parts = latency + (1 - latency) / found.rate[some]
        becomes[some] = whole_ns(duration[some] * parts, edit)
    state = state.timed(duration_ns=becomes)
    state = _noted(state, uses & ~told, some, found)
    if not alone:
        return dataclasses.replace(state, laws=laws)
    return dataclasses.replace(state, cluster=links.cluster, laws=quicker(state, laws, links))


def _noted(state: State, untold: Mask, some: Mask, found: Gains) -> State:
    whole = some & np.isnan(found.latency)
    flat = some & (found.latency == 1) & (state.graph.kind != Kind.COLLECTIVE)
    if untold.any():
        state = state.noting(
            "link-unsure", "ops of groups whose slowest link is not known: left as they were",
            int(untold.sum()),
        )  # fmt: skip
    if whole.any():
        state = state.noting(
            "no-latency", "transfers of unknown latency: all of their time counts as the link's",
            int(whole.sum()),
        )  # fmt: skip
    if flat.any():
        state = state.noting(
            "all-latency", "messages that take no longer for more bytes: links change nothing",
            int(flat.sum()),
        )  # fmt: skip
    return state


def _follows_from_links(edit: Edit) -> InputError:
    return InputError(
        "some of its ops take a time that follows from links only.",
        where=edit,
        expected="Such a time is not known before the step is simulated on a cluster.",
        cure="Put this edit first, or use link= alone, with a cluster.",
    )
