"""Kill processes that work on the file of a campaign, at random moments, and count what is lost: nothing.

    python -m benchmarks.faults              # 500 kills
    python -m benchmarks.faults --kills 50
    python -m benchmarks.faults --commands   # of commands of the notebook
    python -m benchmarks.faults --studies    # of workers on studies in Optuna, whose server is restarted once

Each process asks, tells, corrects and imports as fast as it can until a SIGKILL ends it. Then the file is opened, all
that was acknowledged is looked for, and something is told. Workers on a study are replaced when they are killed, until
there are 200 trials: eight of them on PostgreSQL, four on an SQLite file and on a journal file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.kills import CommandKills, Kills


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", action="store_true")
    parser.add_argument("--studies", action="store_true")
    arguments = parser.parse_args()
    if arguments.studies:
        studies(arguments.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        per_file, total, found = 25, 0, []
        while total < arguments.kills:  # a new file now and then, so that its beginning is killed as well
            place = Path(folder) / str(total)
            place.mkdir()
            kills = (CommandKills if arguments.commands else Kills)(place, arguments.seed + total)
            for _ in range(min(per_file, arguments.kills - total)):
                kills.one_more()
            found.append(kills)
            total += kills.children
            print(f"{total} of {arguments.kills}", file=sys.stderr)
    rows = {"kills": total}
    for name in ("start", "ask", "tell", "correct", "import"):
        rows[f"killed during {name}"] = sum(k.during[name] for k in found)
    rows["acknowledged events"] = sum(k.acknowledged for k in found)
    for what, name in (("lost", "lost"), ("files damaged", "damaged"), ("next command refused", "stuck")):
        rows[what] = sum(getattr(k, name) for k in found)
    for name, count in rows.items():
        print(f"| {name} | {count} |")
    sys.exit(rows["lost"] + rows["files damaged"] + rows["next command refused"] > 0)


def studies(seed: int) -> None:
    from helpers.studies import drive

    found = []
    for kind, size in (("postgresql", 8), ("sqlite", 4), ("journal", 4)):
        found.append(drive(kind, size, 200, 12, seed))
        print(found[-1], file=sys.stderr, flush=True)
    for name in found[0]:
        print(f"| {name} | " + " | ".join(str(each[name]) for each in found) + " |")
        if name == "storage":
            print("|---" * (len(found) + 1) + "|")
    sys.exit(any(each["lost"] + each["wrong"] + each["twice"] or not each["same report"] for each in found))


if __name__ == "__main__":
    main()
