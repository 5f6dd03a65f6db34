"""Processes that work on the file of a campaign and are killed at a random moment, and what is left then.

Each child does one thing after the other (ask, tell, correct, import) and writes a line, unbuffered, as soon as a call
has returned: what is on such a line was acknowledged.
"""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import stableopt as so

HISTORY = ("ask", "tell", "correct", "import")

CHILD = """
import json, os, random, sys
import stableopt as so

def say(*what):
    os.write(1, (json.dumps(what) + "\\n").encode())

grid, model = so.Grid.linspace(0, 1, 101), so.GP(1e6 * so.SE(0.3), 1e3)  # which takes no time
campaign = so.Campaign(grid, 0.1, model=model, file=sys.argv[1])
rng, me = random.Random(int(sys.argv[2])), int(sys.argv[2])
say("start")
for i in range(10**6):
    value = me + i / 10**4
    say("begin", "ask")
    trial = campaign.ask()
    say("ask", trial.number, trial.point[0])
    say("begin", "tell")
    campaign.tell(trial, value)
    say("tell", trial.number, value)
    say("begin", "correct")
    campaign.correct(trial.number, value + 0.5)
    say("correct", trial.number, value + 0.5)
    say("begin", "import")
    numbers = campaign.add(([[rng.randrange(101) / 100] for _ in range(3)], [value] * 3))
    say("import", numbers, value)
"""


class Kills:
    """One file, and one child after the other that is killed while it works on it."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.file, self._rng = folder / "killed.db", random.Random(seed)
        self.during: Counter[str] = Counter()
        self.acknowledged = self.lost = self.damaged = self.stuck = self.children = 0
        self._known: dict[int, tuple[str, float | None]] = {}  # of each trial what was acknowledged last

    def one_more(self) -> None:
        """A child that is killed, and a look at what is left."""
        self.children += 1
        command = [sys.executable, "-c", CHILD, str(self.file), str(self.children)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        # Some are killed while they begin, the others a moment after a random line: so no call is spared.
        wanted = 0 if self._rng.random() < 0.05 else self._rng.randint(1, 24)
        lines = [child.stdout.readline() for _ in range(wanted)]
        time.sleep(self._rng.uniform(0.0, 0.01 if wanted else 0.6))
        child.send_signal(signal.SIGKILL)
        lines += child.communicate()[0].splitlines()
        said = [json.loads(line) for line in lines if line.endswith((b"\n", b"]"))]
        begun = [what for what in said if what[0] == "begin"]
        ended = [what[0] for what in said if what[0] not in ("begin", "start")]
        self.during[begun[-1][1] if len(begun) > len(ended) else "start" if not begun else "ask"] += 1
        for kind, *what in said:
            if kind in ("ask", "tell", "correct"):
                self._known[what[0]] = kind, None if kind == "ask" else what[1]
            elif kind == "import":
                self._known.update(dict.fromkeys(what[0], ("import", what[1])))
        self.acknowledged += len(ended)
        self._look()

    def _look(self) -> None:
        """The next command works, and everything that was acknowledged is there."""
        if not self.file.exists():
            self.lost += len(self._known)
            return
        try:
            campaign = so.Campaign.open(self.file)
            trials = campaign.ledger.trials
        except Exception:
            self.damaged += 1
            return
        for number, (kind, value) in self._known.items():
            trial = trials.get(number)
            # A call that was killed may have been recorded although nobody was told: then it is newer.
            values = [] if trial is None else [e.what.values for e in trial.history if hasattr(e.what, "values")]
            told = kind in ("ask", "import") or {"value": value} in values
            if trial is None or not told or (kind == "import" and trial.values != {"value": value}):
                self.lost += 1
        if sorted(trials) != list(range(1, len(trials) + 1)):
            self.damaged += 1
        try:
            campaign.tell([0.5], 0.0) if not campaign.open_trials else campaign.tell(campaign.open_trials[0], 0.0)
        except Exception:
            self.stuck += 1
        campaign.close()


NOTEBOOK = """file = "lab.db"
[ranges]
x = [0, 1]
[tolerance]
x = 0.1
"""


class CommandKills:
    """The same with commands of the notebook. One whose output is whole was acknowledged; some end before the kill."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self._rng = folder, random.Random(seed)
        (folder / "lab.toml").write_text(NOTEBOOK, encoding="utf-8")
        self.during: Counter[str] = Counter()
        self.acknowledged = self.lost = self.damaged = self.stuck = self.children = 0
        self._known: list[tuple[int, float | None]] = []  # trials, and values that their history has
        campaign = so.Campaign({"x": (0, 1)}, {"x": 0.1}, file=folder / "lab.db")
        campaign.ask(2)
        campaign.tell(1, 1.0)
        campaign.close()
        begin = time.monotonic()
        subprocess.run(self._command("ask"), check=True, stdout=subprocess.DEVNULL)
        self._usual = time.monotonic() - begin  # so that about half of the commands come to their end

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "stableopt", *words, "--json", "-b", str(self.folder / "lab.toml")]

    def one_more(self) -> None:
        """A command that is killed, and a look at what is left."""
        self.children += 1
        kind = self._rng.choice(HISTORY)
        trials = so.Campaign.open(self.folder / "lab.db").ledger
        of = {
            "tell": [t.number for t in trials.open],
            "correct": [t.number for t in trials.trials.values() if t.values],
        }
        if kind == "tell" and not of["tell"]:
            kind = "ask"
        words, value = [kind], float(self.children)
        if kind in of:
            words += [str(self._rng.choice(of[kind])), str(value)]
        if kind == "import":
            (self.folder / "new.csv").write_text(f"x,value\n0.5,{value}\n0.25,{value}\n", encoding="utf-8")
            words.append(str(self.folder / "new.csv"))
        with subprocess.Popen(self._command(*words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            time.sleep(self._usual * self._rng.uniform(0.6, 1.4))
            child.send_signal(signal.SIGKILL)
            output = child.stdout.read() if child.stdout else b""
        self.during[kind] += child.returncode == -signal.SIGKILL
        if output.endswith(b"\n"):
            answer = json.loads(output)
            self.acknowledged += 1
            numbers = answer["added"] if kind == "import" else [trial["trial"] for trial in answer]
            self._known += [(number, None if kind in ("ask", "import") else value) for number in numbers]
        self._look()

    def _look(self) -> None:
        try:
            campaign = so.Campaign.open(self.folder / "lab.db")
            trials = campaign.ledger.trials
        except Exception:
            self.damaged += 1
            return
        for number, value in self._known:
            history = trials[number].history if number in trials else ()
            values = [getattr(e.what, "values", {}).get("value") for e in history]
            self.lost += not history or (value is not None and value not in values)
        try:
            campaign.add([{"x": 0.75, "value": 0.5}])
        except Exception:
            self.stuck += 1
        campaign.close()
