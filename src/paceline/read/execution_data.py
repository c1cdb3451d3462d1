"""Who waits for whose data, among operators in the order in which they ran.

An operator that reads a tensor comes after the last one that wrote that tensor, or elements of its
storage that the tensor covers. Only the innermost operators count: what is around them only calls.
One look at each tensor; nothing is compared with everything.
"""

from collections.abc import Iterable

from paceline.read.execution_node import Tensor


class Writers:
    """The last writer of every tensor and storage so far."""

    def __init__(self) -> None:
        self._of_tensor: dict[tuple[int, int], int] = {}
        self._of_storage: dict[int, tuple[int, int, int]] = {}

    def before(self, reads: Iterable[Tensor]) -> set[int]:
        """The events that a reader of these tensors comes after."""
        found: set[int] = set()
        for tensor in reads:
            writer = self._of_tensor.get((tensor.identity, tensor.storage))
            if writer is not None:
                found.add(writer)
            writer, first, last = self._of_storage.get(tensor.storage, (-1, 0, 0))
            if writer >= 0 and first < tensor.first + tensor.elements and tensor.first < last:
                found.add(writer)
        return found

    def wrote(self, event: int, writes: Iterable[Tensor]) -> None:
        """Notes that an event wrote these tensors."""
        for tensor in writes:
            self._of_tensor[tensor.identity, tensor.storage] = event
            last = tensor.first + tensor.elements
            self._of_storage[tensor.storage] = (event, tensor.first, last)
