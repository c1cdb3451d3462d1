"""Plays lanes: compiled, one look at each op.

A lane plays its ops until one has to wait, then lies down in the queue of what it waits for (an op,
a meeting, a flow) and is woken by it. So no order has to be sorted out beforehand, each dependency
is looked at once, and ops that wait for no flow run ahead of the flows' clock.
"""

from paceline.model import I32, I64, U8, Kind
from paceline.simulate.compiled import compiled

# What becomes of an op once it has started.
PLAIN = 0  # ends after its own duration
MEETS = 1  # ends when all members of its meeting have come and the longest transfer is over
RECEIVES = 2  # its transfer begins when the message has been sent, too
OPENS = 3  # opens a flow and ends with it
POSTS = 4  # opens a flow and ends after its own duration
TAKES = 5  # ends when the flow has arrived

SEND, RECV, COLLECTIVE = int(Kind.SEND), int(Kind.RECV), int(Kind.COLLECTIVE)

UNPLAYED = -1
NOBODY = -1


@compiled
def arranged(  # noqa: PLR0912, PLR0917 - compiled functions take no keywords
    place: I64, number: I32, last: I32, kind: U8, match: I32, duration: I64,
    first: I32, following: I32, code: U8, partner: I32,
    sender: I32, receiver: I32, members: I64, longest: I64,
) -> tuple[int, int]:  # fmt: skip
    """Chains the ops of each lane and says what becomes of each op.

    Fills `first` (by lane), `following`, `code` and `partner` (by op), `sender`, `receiver`,
    `members` and `longest` (by match); returns the number of lanes, and an op whose message is
    sent or received by two, or NOBODY. `number` (by place) and
    `last` (by lane) are scratch.
    """
    ops, lanes = len(kind), 0
    for op in range(ops):
        lane = number[place[op]]
        if lane < 0:
            lane = lanes
            number[place[op]] = lane
            first[lane] = op
            lanes += 1
        else:
            following[last[lane]] = op
        last[lane] = op
        meeting = match[op]
        if meeting >= 0:
            if kind[op] == COLLECTIVE:
                members[meeting] += 1
                longest[meeting] = max(longest[meeting], duration[op])
            elif kind[op] == SEND:
                if sender[meeting] >= 0:
                    return lanes, op
                sender[meeting] = op
            elif kind[op] == RECV:
                if receiver[meeting] >= 0:
                    return lanes, op
                receiver[meeting] = op
    for op in range(ops):
        meeting = match[op]
        if meeting < 0:
            continue
        if kind[op] == COLLECTIVE:
            code[op] = MEETS
            partner[op] = meeting
        elif kind[op] == RECV and sender[meeting] >= 0:
            code[op] = RECEIVES
            partner[op] = sender[meeting]
    return lanes, NOBODY


@compiled
def advance(  # noqa: PLR0912, PLR0915, PLR0917 - one loop, so that its state stays in registers
    code: U8, partner: I32, after_from: I64, after_op: I32, duration: I64, lead: I64,
    following: I32, members: I64, longest: I64,
    cursor: I32, looked: I64, free: I64, behind: I32, waiting: I32,
    arrived: I64, latest: I64, meeting: I32,
    left: I64, arrival: I64, opener: I32, taker: I32, opened: I32,
    stack: I32, awake: int, start: I64, end: I64,
) -> tuple[int, int]:  # fmt: skip
    """Plays every lane on the stack until all wait; returns the ops ended and the flows opened.

    By lane: `cursor` is the op in hand, `looked` its next dependency to look at, `free` the latest
    end so far, `behind` who lies behind this lane in a queue. Queues begin at `waiting` (by op) and
    `meeting` (by match). By flow: when it `left` and its `arrival`, or UNPLAYED.
    """
    played, flows = 0, 0
    while awake > 0:
        awake -= 1
        lane = stack[awake]
        op = cursor[lane]
        look = looked[lane]
        ready = free[lane]
        while op >= 0:
            stop = after_from[op + 1]
            while look < stop:
                ended = end[after_op[look]]
                if ended < 0:
                    break
                ready = max(ready, ended)
                look += 1
            if look < stop:
                other = after_op[look]
                behind[lane] = waiting[other]
                waiting[other] = lane
                break
            begun = ready + lead[op]
            does = code[op]
            if does == PLAIN:
                start[op] = begun
                over = begun + duration[op]
            elif does == MEETS:
                start[op] = begun
                match = partner[op]
                arrived[match] += 1
                latest[match] = max(latest[match], begun)
                if arrived[match] < members[match]:
                    behind[lane] = meeting[match]
                    meeting[match] = lane
                    break
                over = latest[match] + longest[match]
                peer = meeting[match]
                while peer >= 0:
                    own = cursor[peer]
                    end[own] = over
                    played += 1
                    woken = waiting[own]
                    while woken >= 0:
                        stack[awake] = woken
                        awake += 1
                        woken = behind[woken]
                    own = following[own]
                    cursor[peer] = own
                    free[peer] = over
                    if own >= 0:
                        looked[peer] = after_from[own]
                        stack[awake] = peer
                        awake += 1
                    peer = behind[peer]
            elif does == RECEIVES:
                start[op] = begun
                other = partner[op]
                if end[other] < 0:
                    behind[lane] = waiting[other]
                    waiting[other] = lane
                    break
                over = max(begun, start[other]) + duration[op]
            elif does == TAKES:
                start[op] = begun
                flow = partner[op]
                if arrival[flow] < 0:
                    taker[flow] = lane
                    break
                over = max(begun, arrival[flow])
            else:
                flow = partner[op]
                if start[op] < 0:
                    start[op] = begun
                    opened[flows] = flow
                    flows += 1
                if does == POSTS:
                    over = begun + duration[op]
                elif left[flow] < 0:
                    opener[flow] = lane
                    break
                else:
                    over = left[flow]
            end[op] = over
            played += 1
            woken = waiting[op]
            while woken >= 0:
                stack[awake] = woken
                awake += 1
                woken = behind[woken]
            ready = over
            op = following[op]
            if op >= 0:
                look = after_from[op]
        cursor[lane] = op
        looked[lane] = look
        free[lane] = ready
    return played, flows
