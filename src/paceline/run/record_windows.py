"""Opens and closes the windows of a recording between two steps, one after the other."""

from typing import Any

from paceline.run.record_settings import Settings, Window
from paceline.run.record_window import Window as Detailed
from paceline.run.record_window import somebody_profiles

OWN = "own-profiler"


class Windows:
    """The windows that are still to come, and the one that is open."""

    def __init__(self, recorder: Any, settings: Settings) -> None:
        self.recorder = recorder
        self.settings = settings
        self.ahead: list[Window] = list(settings.windows)
        self.open: Detailed | None = None
        self.busy = False  # torch's profiler is ours at this moment

    def before(self, step: int) -> None:
        """What has to happen before this step begins."""
        if self.open is not None and self.open.began_ns and step >= self.ahead[0][1]:
            self.close()
        while self.ahead and step >= self.ahead[0][1]:
            self.ahead.pop(0)
        if not self.ahead:
            return
        first = self.ahead[0][0]
        if self.open is None and step >= first - 1:
            self._prepare()
        if self.open is not None and step >= first:
            if not self.open.began_ns:
                self.recorder.ping()
                self.recorder.open_window(self.ahead[0])
                self.busy = True
                self.open.start()
                self.busy = False
            self.open.step(step)

    def _prepare(self) -> None:
        if somebody_profiles():
            self.give_way()
            return
        folder = self.settings.window_folder(self.ahead[0]) / f"worker-{self.recorder.rank}"
        self.busy = True
        self.open = Detailed(folder, cuda=self.recorder.cuda)
        self.busy = False

    def close(self) -> None:
        """Ends the window that is open, whole or cut, and writes it."""
        detailed, self.open = self.open, None
        if detailed is None:
            return
        began = detailed.began_ns
        self.busy = True
        detailed.stop()
        self.busy = False
        if began:
            self.ahead.pop(0)
            self.recorder.drain(0)
            self.recorder.ping()
            detailed.write()
            self.recorder.files.close_window()

    def drop(self) -> None:
        """Ends the window that is open and writes nothing."""
        detailed, self.open, self.ahead = self.open, None, []
        if detailed is not None:
            self.busy = True
            detailed.stop()

    def give_way(self) -> None:
        """The script uses torch's profiler itself: ours writes what it has and keeps away."""
        lost = bool(self.ahead)
        self.close()
        self.ahead = []
        if lost:
            text = "The script uses torch's profiler itself; no timeline was recorded after that."
            worker = self.recorder.rank
            note = {"code": OWN, "text": text, "worker": worker, "count": 1}
            self.recorder.files.tell({"note": note, "worker": worker})
