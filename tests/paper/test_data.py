"""Data of the experiments: what ships is what it says, what is fetched is checked, what is malformed is located."""

import hashlib
import http.server
import io
import threading
import zipfile
from importlib.resources import files

import numpy as np
import pytest

pytest.importorskip("joblib")

from stableopt.paper.experiments import ratings
from stableopt.paper.experiments.base import DataError, Plan
from stableopt.paper.experiments.factorisation import Observed, factorise
from stableopt.paper.experiments.lake import Lake
from stableopt.paper.experiments.transect import open_transect, read_transect


def test_the_shipped_transect_is_the_open_one_with_its_credit():
    transect = open_transect()
    assert transect.points.shape == (590, 2)
    assert np.all(transect.points >= [0.5, 1.0]) and np.all(transect.points <= [34.5, 100.0])
    note = (files("stableopt.paper.experiments") / "data" / "README.md").read_text(encoding="utf-8")
    assert "C-PROOF" in note and "may be redistributed and used without restriction or warranty" in note


def test_the_stable_optimum_of_the_shipped_transect_is_where_the_facts_say():
    lake = Lake.load(Plan(1, 1, 0, ("StableOpt",)))
    assert np.allclose(lake.gp.kernel.kernel.lengthscale, [5.35, 13.8], rtol=0.02)
    problem = lake.problem
    peak = problem.domain.points[problem.peak[0]]
    assert np.allclose(peak, [26.9, 32.7], atol=0.05)
    assert np.allclose(problem.stable_decision, [26.9, 34.7], atol=0.05)
    assert problem.worst_case(peak) == pytest.approx(2.380, abs=2e-3)
    assert problem.stable_value == pytest.approx(2.667, abs=2e-3)
    assert np.allclose(lake.settings["eps"], [2.30, 5.56], atol=5e-3)


GOOD = "".join(f"{i % 5},{i // 5},{i}\n" for i in range(15))


@pytest.mark.parametrize("head", ["", "length,depth,value\n", "\ufeffL,D,V,more\n"])
def test_a_transect_may_have_a_header_or_not(tmp_path, head):
    path = tmp_path / "lake.csv"
    path.write_text(head + GOOD, encoding="utf-8")
    transect = read_transect(path)
    assert transect.points.shape == (15, 2) and transect.values[-1] == 14.0
    assert transect.lower.tolist() == [0.0, 0.0] and transect.upper.tolist() == [4.0, 2.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2,3\n1,x,3\n", r"line 2, column 2: expected a finite number, got 'x'"),
        (b"length,depth,value\n1,2,nan\n", r"line 2, column 3: expected a finite number, got 'nan'"),
        (b"1,2,3\n\n4,5\n", r"line 3, column 3: expected length, depth and value, got 2 columns"),
        (b"1,2,3\n1;2;3\n", r"line 2, column 2: "),
        (b"1,2,3\n1,\xff,3\n", r"line 2, column 3: expected text in UTF-8"),
        (b"1,2,3\n", r"expected between 10 and 5000 rows of length, depth and value, got 1"),
        (b"", r"got 0"),
        (b"1,2,3\n" * 12, r"column 1: expected different lengths, got 1 only"),
        (b"length,depth,value\nlength,depth,value\n", r"line 2, column 1"),
    ],
)
def test_a_malformed_transect_is_located_by_line_and_column(tmp_path, content, message):
    path = tmp_path / "lake.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_transect(path)


DATA = b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n22\t377\t1\t878887116\n"


@pytest.fixture
def original(monkeypatch):
    """Three ratings that are taken for the original."""
    monkeypatch.setattr(ratings, "SHA256", hashlib.sha256(DATA).hexdigest())

    def no_registry():
        raise DataError("pip found nothing")

    monkeypatch.setattr(ratings, "_from_registry", no_registry)


def archive(name, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("ml-100k/README", "text")
        file.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def server():
    """A web server on this machine, what it serves, and the paths that it was asked for."""
    served, asked = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = served.get(self.path)
            self.send_response(200 if content else 404)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/ml-100k.zip", served, asked
    running.shutdown()
    thread.join()
    running.server_close()


def test_ratings_are_fetched_once_and_kept(original, server, tmp_path):
    url, served, asked = server
    served["/ml-100k.zip"] = archive("ml-100k/u.data", DATA)
    for _ in range(2):
        found = ratings.load_ratings(url=url, cache=tmp_path)
        assert found.users.tolist() == [195, 185, 21] and found.movies.tolist() == [241, 301, 376]
        assert found.values.tolist() == [3.0, 3.0, 1.0]
    assert asked == ["/ml-100k.zip"]
    (tmp_path / "ml-100k" / "u.data").write_bytes(DATA[:-1] + b"7")
    ratings.load_ratings(url=url, cache=tmp_path)
    assert len(asked) == 2, "a damaged file in the cache is fetched again"
    assert (tmp_path / "ml-100k" / "u.data").read_bytes() == DATA


def test_an_altered_copy_is_refused_and_not_kept(original, server, tmp_path):
    url, served, _ = server
    served["/ml-100k.zip"] = archive("ml-100k/u.data", DATA.replace(b"881250949", b"881250940"))
    with pytest.raises(DataError, match=r"--data PATH.*pip download --no-deps recbole==1.2.1.*not the original u.data"):
        ratings.load_ratings(url=url, cache=tmp_path)
    assert list(tmp_path.rglob("*")) == []


def test_without_the_web_the_wheel_takes_its_place(original, server, tmp_path, monkeypatch):
    url, _, asked = server
    table = b"user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + DATA
    wheel = archive("recbole/dataset_example/ml-100k/ml-100k.inter", table)
    monkeypatch.setattr(ratings, "_from_registry", lambda: wheel)
    assert len(ratings.load_ratings(url=url, cache=tmp_path).values) == 3
    assert asked == ["/ml-100k.zip"]
    path = tmp_path / "recbole.whl"
    path.write_bytes(wheel)
    assert len(ratings.load_ratings(path).values) == 3, "and a wheel can be passed as a file"


def test_without_any_source_the_error_says_what_to_do(original, tmp_path):
    with pytest.raises(DataError) as caught:
        ratings.load_ratings(url="http://127.0.0.1:9/ml-100k.zip", cache=tmp_path)
    for part in (ratings.OFFICIAL, "--data PATH", "pip download --no-deps recbole==1.2.1", "127.0.0.1:9"):
        assert part in str(caught.value)


@pytest.mark.parametrize("content", [b"not ratings", archive("other.txt", b"?")])
def test_a_file_that_is_not_the_original_is_refused(tmp_path, content):
    path = tmp_path / "u.data"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"u\.data"):
        ratings.load_ratings(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\t2\tx\t4\n", r"line 1, column 3: expected a rating of 1, 2, 3, 4 or 5, got 'x'; a line has user, movie"),
        (DATA + b"1\t2\t6\t4\n", r"line 4, column 3: expected a rating .* got '6'"),
        (DATA + b"0\t2\t3\t4\n", r"line 4, column 1: expected the number of a user, got '0'"),
        (DATA + b"1\t-2\t3\t4\r\n", r"line 4, column 2: expected the number of a movie, got '-2'"),
        (DATA + b"1\t2\t3\tnoon\n", r"line 4, column 4: expected a time in seconds, got 'noon'"),
        (DATA + b"1\t2\t3\n", r"line 4, column 4: expected a time in seconds, got the end of the line"),
        (DATA + b"1\t2\t3\t4\t5\n", r"line 4, column 5: expected the end of the line, got more"),
        (DATA + b"\n" + DATA, r"line 4, column 1: .* got ''"),
        (b"1,2,3,4\n", r"line 1, column 1: expected the number of a user, got '1,2,3,4'.* tabs between"),
        (b"1\t2\t\xff\t4\n", r"line 1, column 3: .* got '\\\\xff'"),
        (b"user_id:token\titem_id:token\n1\tx\t3\t4\n", r"line 2, column 2: expected the number of a movie"),
        (b"", r"line 1, column 1: "),
        (archive("ml-100k/u.data", b"1\t2\tx\t4\n"), r"line 1, column 3: "),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", r"is a binary file: expected the text file u.data"),
        (archive("ml-100k/u.data", DATA).replace(DATA, DATA[::-1]), r"an archive that cannot be unpacked \(.*CRC"),
        (DATA.replace(b"\n", b"\r\n"), r"is not the original u.data \(expected the sha256"),
        (DATA.replace(b"881250949", b"881250940"), r"is not the original u.data \(expected the sha256"),
    ],
)
def test_malformed_ratings_are_located_by_line_and_column(original, tmp_path, content, message):
    path = tmp_path / "ratings.data"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"ratings\.data.*{message}.*--data PATH"):
        ratings.load_ratings(path)


def test_a_page_that_came_instead_of_the_ratings_is_named_once(original, server, tmp_path):
    url, served, _ = server
    served["/ml-100k.zip"] = b"<html>moved</html>"
    with pytest.raises(DataError, match=r"ml-100k\.zip: the download, line 1, column 1: .*got '<html>moved") as caught:
        ratings.load_ratings(url=url, cache=tmp_path)
    assert str(caught.value).count("--data PATH") == str(ratings._HELP).count("--data PATH")


def test_the_cache_is_the_user_s(monkeypatch, tmp_path):
    monkeypatch.setattr(ratings.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ratings.cache_folder() == tmp_path / "stableopt"


def low_rank(seed=0, shape=(120, 90), factors=3):
    rng = np.random.default_rng(seed)
    M, U = rng.gamma(2.0, 0.5, (shape[0], factors)), rng.gamma(2.0, 0.5, (shape[1], factors))
    seen = rng.random(shape) < 0.4
    return M @ U.T, seen


OPTIONS = {"factors": 3, "penalty": 1e-5, "seed": 0}


def test_the_factorisation_recovers_ratings_that_it_has_not_seen():
    truth, seen = low_rank()
    M, U = factorise(Observed(*np.nonzero(seen), truth[seen]), iterations=200, **OPTIONS)
    assert M.min() >= 0 and U.min() >= 0
    error = np.abs(M @ U.T - truth)[~seen]
    assert np.median(error) < 0.02 * truth.mean()
    # Negative control: with a missing rating taken for a zero, it learns the zeros.
    rows, columns = (index.ravel() for index in np.indices(truth.shape))
    M, U = factorise(Observed(rows, columns, np.where(seen, truth, 0.0).ravel()), iterations=200, **OPTIONS)
    assert np.median(np.abs(M @ U.T - truth)[~seen]) > 0.3 * truth.mean()


def test_the_factorisation_never_becomes_worse():
    truth, seen = low_rank(seed=1)
    penalty = 0.01

    def objective(iterations):
        M, U = factorise(
            Observed(*np.nonzero(seen), truth[seen]), factors=3, penalty=penalty, iterations=iterations, seed=0
        )
        size = seen.sum(axis=1) @ np.sum(M**2, axis=1) + seen.sum(axis=0) @ np.sum(U**2, axis=1)
        return np.sum((M @ U.T - truth)[seen] ** 2) + penalty * size

    values = [objective(iterations) for iterations in range(1, 8)]
    assert np.all(np.diff(values) <= 1e-9 * values[0])
