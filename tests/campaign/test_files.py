"""Promises about the file of a campaign: what was acknowledged survives a kill, and what cannot be used is refused."""

import multiprocessing
import os
import shutil
import sqlite3
import struct
import subprocess
import sys

import pytest
from helpers.cases import extra
from helpers.kills import HISTORY, Kills
from helpers.refusals import refused

import stableopt as so
from stableopt.campaign import files

LINE = {"x": (0.0, 1.0)}


@pytest.fixture
def file(tmp_path):
    campaign = so.Campaign(LINE, 0.1, file=tmp_path / "lab.db", who="ann")
    campaign.ask(2)
    campaign.tell(1, 1.5)
    campaign.close()
    return tmp_path / "lab.db"


def content(file):
    return {path.name: path.read_bytes() for path in file.parent.iterdir()}


# ------------------------------------------------------------------------------------------------- many and the killed


def tell_some(file, first):
    campaign = so.Campaign.open(file)
    for i in range(first, first + 50):
        campaign.tell({"x": i / 400}, float(i))


def test_four_processes_that_tell_into_one_file_lose_nothing(tmp_path):
    file = tmp_path / "lab.db"
    so.Campaign(LINE, 0.1, file=file).close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=tell_some, args=(file, 50 * k)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    campaign = so.Campaign.open(file)
    assert sorted(t["value"] for t in campaign.trials) == list(range(200))
    assert [t["trial"] for t in campaign.trials] == list(range(1, 201))


def test_a_forked_process_has_a_connection_of_its_own(tmp_path):
    campaign = so.Campaign(LINE, 0.1, file=tmp_path / "lab.db")
    campaign.tell({"x": 0.1}, 1.0)
    if (pid := os.fork()) == 0:
        campaign.tell({"x": 0.2}, 2.0)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    campaign.tell({"x": 0.3}, 3.0)
    assert [t["value"] for t in campaign.trials] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("count", [6, extra(18)])
def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path, count):
    """A share of the 500 that `python -m benchmarks.faults` makes."""
    kills = Kills(tmp_path, seed=count)
    for _ in range(count):
        kills.one_more()
    assert kills.lost == kills.damaged == kills.stuck == 0 and kills.acknowledged > 0
    assert set(kills.during) <= {*HISTORY, "start"}


def test_the_first_call_of_many_at_once_makes_the_file(tmp_path):
    code = "import sys, stableopt as so; so.Campaign({'x': (0.0, 1.0)}, 0.1, file=sys.argv[1]).ask()"
    made = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "lab.db")]) for _ in range(4)]
    assert [process.wait() for process in made] == [0] * 4
    campaign = so.Campaign.open(tmp_path / "lab.db")
    points = [t.point["x"] for t in campaign.open_trials]
    assert len(points) == len(set(points)) == 4
    campaign.close()
    assert [path.name for path in tmp_path.iterdir()] == ["lab.db"], "nothing is left lying around"


# ---------------------------------------------------------------------------------------------- what cannot be used


def another_program(file):
    file.unlink()
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE cats (name TEXT)")
    db.commit()
    db.close()


def another_version(file):
    with file.open("r+b") as stream:
        stream.seek(60)
        stream.write(struct.pack(">I", 9))


def overwritten(file):
    data = bytearray(file.read_bytes())
    data[4096:] = b"x" * (len(data) - 4096)
    file.write_bytes(data)


def without_events(file):
    db = sqlite3.connect(file)
    db.execute("DELETE FROM events")
    db.commit()
    db.close()


def unknown_event(file):
    db = sqlite3.connect(file)
    db.execute("UPDATE events SET kind = 'danced' WHERE seq = 2")
    db.commit()
    db.close()


WRONG = {
    "another program": (another_program, ["another program's", "stays as it is"]),
    "a text": (lambda f: f.write_text("temperature;yield\n" * 50), ["another program's"]),
    "another version": (another_version, ["format 1", "in format 9", "the version of stableopt"]),
    "a truncated header": (lambda f: f.write_bytes(f.read_bytes()[:50]), ["damaged", "50 bytes"]),
    "a truncated file": (lambda f: f.write_bytes(f.read_bytes()[:5000]), ["damaged"]),
    "a broken page": (overwritten, ["damaged"]),
    "an unknown event": (unknown_event, ["damaged", "event 2", "danced"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_used_is_refused_and_stays_as_it_is(file, name):
    damage, words = WRONG[name]
    damage(file)
    before = content(file)
    for call in (lambda: so.Campaign.open(file).trials, lambda: so.Campaign(LINE, 0.1, file=file).trials):
        refused(call, ValueError, str(file), *words)
    after = content(file)
    assert after[file.name] == before[file.name]
    refused(lambda: so.maximize(lambda p: 1 / 0, LINE, 0.1, file=file), ValueError, *words)


def test_a_file_without_its_first_event_is_damaged(file):
    without_events(file)
    refused(lambda: so.Campaign.open(file).trials, ValueError, "without its first event")


def test_a_file_that_is_not_there_is_not_made_by_opening_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.db, which is not there"):
        so.Campaign.open(tmp_path / "nowhere.db")
    with pytest.raises(FileNotFoundError, match=r"expected the file of a campaign in a folder, got .*no is not there$"):
        so.Campaign(LINE, 0.1, file=tmp_path / "no" / "lab.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file_of_a_campaign(tmp_path):
    for call in (lambda: so.Campaign.open(tmp_path), lambda: so.Campaign(LINE, 0.1, file=tmp_path)):
        refused(call, IsADirectoryError, "expected the file of a campaign", f"got {tmp_path}, which is a folder: add")


def test_a_campaign_that_was_closed_says_how_to_go_on(file):
    campaign = so.Campaign.open(file)
    campaign.close()
    with pytest.raises(ValueError, match=r"was closed: Campaign.open\("):
        campaign.ask()
    so.Campaign.open(file).ask()


def test_an_empty_file_becomes_a_campaign(tmp_path):
    (tmp_path / "lab.db").touch()
    assert so.Campaign(LINE, 0.1, file=tmp_path / "lab.db").ask().number == 1


def nothing_changes(campaign, words):
    before = campaign.ledger
    calls = [lambda: campaign.tell(2, 2.0), lambda: campaign.correct(1, 3.0), campaign.ask]
    calls += [lambda: campaign.abandon(2), lambda: campaign.add({"x": [0.1], "value": [1.0]})]
    calls += [lambda: campaign.change(tolerance=0.2)]
    for call in calls:
        with pytest.raises(OSError, match=words) as caught:
            call()
        assert "nothing was recorded" in str(caught.value)
        assert campaign.ledger == before


def test_a_full_disk_is_said_and_nothing_changes(file):
    campaign = so.Campaign.open(file)
    db = campaign._record.store._db
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")
    text = "x" * 5000  # more than there is room for
    before = campaign.ledger
    for call in (lambda: campaign.tell(2, failed=text), lambda: campaign.abandon(2, text)):
        with pytest.raises(OSError, match=r"lab\.db cannot be written, and nothing was recorded: the disk is full"):
            call()
        assert campaign.ledger == before
    db.execute("PRAGMA max_page_count = 100000")
    assert campaign.tell(2, 2.0).status == "done", "there is room again"


def test_a_disk_that_takes_no_more_is_said_and_nothing_changes(file, monkeypatch):
    """The system refuses to let the file grow, as on a full disk or with a quota."""
    code = """
import resource, signal, sys, stableopt as so
campaign = so.Campaign.open(sys.argv[1])
campaign.tell(2, 2.0)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
before = campaign.ledger
try:
    campaign.correct(1, 9.0)
except OSError as error:
    print(error, campaign.ledger == before)
"""
    said = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True).stdout
    assert "nothing was recorded" in said and "make room" in said and said.strip().endswith("True")
    assert [t["value"] for t in so.Campaign.open(file).trials] == [1.5, 2.0]


def test_a_read_only_file_can_be_read_and_says_that_it_cannot_be_written(file):
    campaign = so.Campaign.open(file)
    campaign._record.store._db.execute("PRAGMA query_only = 1")  # as an account without the right to write sees it
    assert campaign.trials[0]["value"] == 1.5 and campaign.result.decision
    nothing_changes(campaign, "it is read-only: change its permissions")


def test_somebody_who_writes_for_very_long_is_not_waited_for_forever(file, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    campaign, other = so.Campaign.open(file), sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    nothing_changes(campaign, "another process has been writing")
    other.execute("ROLLBACK")
    assert campaign.tell(2, 2.0).status == "done"


def test_a_copy_of_the_file_is_a_campaign_of_its_own(file, tmp_path):
    shutil.copy(file, tmp_path / "copy.db")
    one, two = so.Campaign.open(file), so.Campaign.open(tmp_path / "copy.db")
    one.tell(2, 2.0)
    assert two.trial(2).status == "open" and one.trial(2).status == "done"


def test_sets_of_ones_own_need_their_functions(tmp_path):
    file, set_of_mine = tmp_path / "lab.db", so.Distance(far, 0.2)
    grid = so.Grid.linspace(0, 1, 11)
    so.Campaign(grid, set_of_mine, file=file).tell([0.5], 1.0)
    assert so.Campaign(grid, set_of_mine, file=file).counts["done"] == 1
    refused(lambda: so.Campaign.open(file), ValueError, "the function 'far'", "functions=")
    assert so.Campaign.open(file, functions={"far": far}).result.decision is not None


def far(a, b):
    return float(abs(a - b).sum())


ADD = "import sys, stableopt as so; c = so.Campaign.open(sys.argv[1]); c.add([{'x': 0.5, 'value': 1.0}]); c.close()"


def test_a_file_that_is_open_twice_in_one_process_loses_nothing_to_another_process(tmp_path):
    """Whoever closes a descriptor of a file gives up all locks of the process on it."""
    first = so.Campaign(LINE, 0.1, file=tmp_path / "lab.db")
    second = so.Campaign.open(tmp_path / "lab.db")
    for i in range(3):
        first.add([{"x": 0.1 * i, "value": 1.0}])
        subprocess.run([sys.executable, "-c", ADD, str(tmp_path / "lab.db")], check=True)
        second.add([{"x": 0.1 * i, "value": 2.0}])
    code = "import sys, stableopt as so; print(so.Campaign.open(sys.argv[1]).counts['done'])"
    seen = subprocess.run([sys.executable, "-c", code, str(tmp_path / "lab.db")], check=True, capture_output=True)
    assert int(seen.stdout) == first.counts["done"] == second.counts["done"] == 9


def test_a_file_that_was_begun_with_other_defaults_goes_on(tmp_path):
    """Defaults change from version to version; what a person said must be the same."""
    path, ranges = tmp_path / "a.db", {"a": (0.0, 1.0)}
    before = {"explore": 0.7, "beta": 4.0, "algorithm": so.ALGORITHMS["StableOpt"]}
    so.Campaign(ranges, 0.1, file=path, **before).tell({"a": 0.5}, 1.0)
    again = so.Campaign(ranges, 0.1, file=path)
    assert len(again.trials) == 1 and again.result.optimizer.exploring.value == 0.7
    with pytest.raises(ValueError, match="another explore: "):
        so.Campaign(ranges, 0.1, file=path, explore=0.8)
    with pytest.raises(ValueError, match="another tolerance: "):
        so.Campaign(ranges, 0.2, file=path)


def test_a_call_that_is_refused_before_anything_is_told_leaves_no_file(tmp_path):
    """It would refuse the corrected call, since that has other words."""
    path, f = tmp_path / "run.db", lambda point: {"yield": point["x"]}
    path.touch()  # an empty file is none
    with pytest.raises(TypeError, match="did you mean value='yield'"):
        so.maximize(f, {"x": (0, 1)}, 0.1, file=path, value="yeild", evaluations=4)
    with pytest.raises(ValueError, match="got the columns"):
        so.maximize(f, {"x": (0, 1)}, 0.1, file=path, value="yield", evaluations=4, data={"x": [0.5], "yeild": [1.0]})
    assert not list(tmp_path.iterdir())

    def joined(point):  # another process has begun to work in the same file
        so.Campaign.open(tmp_path / "shared.db").ask()
        return {"yeild": point["x"]}

    with pytest.raises(TypeError, match="did you mean value='yeild'"):
        so.maximize(joined, {"x": (0, 1)}, 0.1, file=tmp_path / "shared.db", value="yield", evaluations=4)
    assert so.Campaign.open(tmp_path / "shared.db").counts["open"] == 2
    assert so.maximize(f, {"x": (0, 1)}, 0.1, file=path, value="yield", evaluations=4).state.t == 4
    with pytest.raises(ValueError, match="another value needs another file"):
        so.maximize(f, {"x": (0, 1)}, 0.1, file=path, value="yeild", evaluations=5)
    assert so.Campaign.open(path).counts["done"] == 4
