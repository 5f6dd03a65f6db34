"""Promises of constraints at the front door: told by name, kept by name, and refused where they cannot be meant."""
# ruff: noqa: E501 (a table is read by its rows)

import csv
import json
import math

import numpy as np
import pytest
from helpers.refusals import refused, table

import stableopt as so
from stableopt.campaign.measuring import Measuring
from stableopt.loop.constraints import Constraint

LINE = {"x": (0.0, 1.0)}
LIMITS = {"stress": (None, 14.0), "deflection": (-2.0, 2.0)}
NAN = math.nan


def campaign(**options):
    options = {"value": "cost", "constraints": LIMITS, "minimize": True, **options}
    return so.Campaign(LINE, 0.1, **options)


# ----------------------------------------------------------------------------------------------------------- told


def test_values_are_told_by_name_and_may_be_missing_one_by_one():
    book = campaign()
    first, second, third = book.ask(3)
    assert book.tell(first, {"cost": 3.1, "stress": 12.0, "deflection": 0}).values == {"cost": 3.1, "stress": 12.0, "deflection": 0.0}  # fmt: skip
    assert book.tell(second, (2.9, {"stress": NAN})).values == {"cost": 2.9}
    assert book.tell(third, {"stress": 15.0, "cost": None}).values == {"stress": 15.0}
    assert [t["status"] for t in book.trials] == ["done"] * 3 and book.counts["failed"] == 0
    assert [(t["cost"], t["stress"], t["deflection"]) for t in book.trials] == [(3.1, 12.0, 0.0), (2.9, None, None), (None, 15.0, None)]  # fmt: skip
    assert repr(book.trial(1)).endswith("done = cost 3.1, stress 12, deflection 0)")
    assert "stress" in book._repr_html_()


def test_a_correction_keeps_what_it_does_not_name():
    book = campaign()
    book.tell({"x": 0.5}, {"cost": 3.1, "stress": 12.0})
    assert book.correct(1, {"stress": 12.5}).values == {"cost": 3.1, "stress": 12.5}
    assert book.correct(1, {"cost": None, "deflection": 1.0}).values == {"stress": 12.5, "deflection": 1.0}
    assert book.correct(1, failed="broken").values == {}
    assert book.correct(1, {"deflection": 0.5}).values == {"deflection": 0.5} and book.trial(1).status == "done"
    refused(lambda: book.correct(1, {"deflection": None}), ValueError, "expected a value that is left")
    assert book.trial(1).values == {"deflection": 0.5}


@table(
    [
        ("a bare number", lambda b: b.tell(1, 3.1), ValueError, "expected values for ['cost', 'stress', 'deflection'] by name", '{"cost": 3.1, "stress": ...}'),
        ("another name", lambda b: b.tell(1, {"cost": 3.1, "strain": 1.0}), ValueError, "expected values for ['cost', 'stress', 'deflection'], got ['cost', 'strain']"),
        ("nothing", lambda b: b.tell(1, {}), ValueError, "expected values for"),
        ("nothing measured", lambda b: b.tell(1, {"cost": NAN, "stress": None}), ValueError, "expected a value, got none"),
        ("infinite", lambda b: b.tell(1, {"cost": 1.0, "stress": math.inf}), ValueError, "expected a finite number as stress", "None if stress was not measured", "failed='why'"),
        ("a word", lambda b: b.tell(1, {"cost": 1.0, "stress": "high"}), ValueError, "expected a finite number as stress", "'high'"),
        ("a value that failed", lambda b: b.tell(1, {"cost": 1.0}, failed="broken"), ValueError, "got both"),
    ]
)  # fmt: skip
def test_what_cannot_be_told_is_refused_and_nothing_is_recorded(call, error, words):
    book = campaign()
    book.ask()
    seen = book.ledger.seq
    refused(lambda: call(book), error, *words)
    assert book.ledger.seq == seen


# ---------------------------------------------------------------------------------------------------------- words


def words(**options):
    return lambda: so.Campaign(LINE, 0.1, **{"value": "cost", **options})


@table(
    [
        ("no dictionary", words(constraints="stress < 14"), ValueError, "expected constraints such as", "'stress < 14'"),
        ("a list of pairs", words(constraints=[(None, 14.0)]), ValueError, "expected constraints such as"),
        ("a number", words(constraints={"stress": 14.0}), ValueError, "expected a lower and an upper limit of 'stress'", "(None, 14.0)", "got 14.0"),
        ("three", words(constraints={"stress": (1, 2, 3)}), ValueError, "expected a lower and an upper limit of 'stress'"),
        ("no limit", words(constraints={"stress": (None, None)}), ValueError, "expected a limit for 'stress', got none"),
        ("the wrong way round", words(constraints={"stress": (14.0, 2.0)}), ValueError, "'stress'", "14 and 2"),
        ("NaN", words(constraints={"stress": (None, NAN)}), ValueError, "'stress'", "nan"),
        ("a word", words(constraints={"stress": (None, "14")}), ValueError, "'stress'", "'14'"),
        ("like the value", words(constraints={"cost": (None, 14.0)}), ValueError, "expected constraints with other names", "['cost']"),
        ("like a parameter", words(constraints={"x": (None, 14.0)}), ValueError, "expected constraints with other names", "['x']"),
        ("like the environment", words(environment={"wind": (0, 1)}, constraints={"wind": (None, 1.0)}), ValueError, "other names", "['wind']"),
        ("twice", words(constraints=[Constraint("a", 1.0), Constraint("a", upper=2.0)]), ValueError, "other names", "['a']"),
        ("another key", words(constraints={"b": Constraint("a", 1.0)}), ValueError, "expected one name", "'b' for 'a'"),
        ("no name", words(constraints={3: (None, 1.0)}), ValueError, "with names as keys, got 3"),
    ]
)  # fmt: skip
def test_constraints_that_cannot_be_meant_are_refused(call, error, words):
    refused(call, error, *words)


def test_limits_are_said_in_a_dictionary_or_as_constraints():
    pairs, values = (
        campaign(),
        campaign(constraints=[Constraint("stress", upper=14.0), Constraint("deflection", -2.0, 2.0)]),
    )
    assert pairs.ledger.said.limits == values.ledger.said.limits
    assert pairs.ledger.said.outputs == ("cost", "stress", "deflection")


# ------------------------------------------------------------------------------------------------------ what f returns


@pytest.mark.parametrize(
    ("returned", "values"),
    [
        ({"cost": 1, "stress": np.float32(2), "more": "ignored"}, {"cost": 1.0, "stress": 2.0}),
        ((1.0, {"stress": 2}), {"cost": 1.0, "stress": 2.0}),
        ({"cost": None, "stress": 2.0}, {"stress": 2.0}),
        ((1.0, {"stress": NAN}), {"cost": 1.0}),
        ({"cost": 1.0, "stress": np.ma.masked}, {"cost": 1.0}),
        ({"cost": math.inf, "stress": 10**400}, None),
    ],
    ids=repr,
)
def test_f_returns_a_dictionary_or_the_value_and_a_dictionary(returned, values):
    found, why = Measuring(lambda point: returned, ("cost", "stress"))(np.array([0.5]))
    assert found == values and (why == "cost inf, stress inf (at [0.5])" if values is None else not why)


@pytest.mark.parametrize("returned", [1.0, {"cost": 1.0}, {"stress": 1.0}, (1.0, {}), {"cost": 1.0, "stress": "2"}, None, (1.0, 2.0)], ids=repr)  # fmt: skip
def test_a_constraint_that_f_did_not_return_ends_the_call_and_nothing_is_told(returned):
    told = []
    call = lambda: so.minimize(lambda p: told.append(p) or returned, LINE, 0.1, value="cost", constraints={"stress": (None, 14.0)})  # fmt: skip  # noqa: E731
    refused(
        call, TypeError, "expected the function to return numbers for ['cost', 'stress'] by name", f"got {returned!r}"
    )
    assert len(told) == 1


@pytest.mark.parametrize(
    ("names", "returned", "meant"),
    [
        (("value",), {"cost": 1.0}, ": did you mean value='cost'?"),
        (("csot",), {"mass": 2.0, "cost": 1.0}, ": did you mean value='cost'?"),
        (("value", "stress"), {"stress": 2.0, "cost": 1.0}, ": did you mean value='cost'?"),
        (("cost", "sress"), {"cost": 1.0, "mass": 3.0, "stress": 2.0}, ": there is no 'sress': did you mean 'stress'?"),
        (("cost", "stress"), {"cost": 1.0, "mass": 2.0}, ": there is no 'stress'"),
        (("cost", "stress"), {"stress": 1.0}, ": there is no 'cost'"),
        (("cost",), {"cost": "1.0", "mass": 2.0}, "at [0.5]"),
    ],
)
def test_a_name_that_f_did_not_return_is_answered_with_the_one_that_was_meant(names, returned, meant):
    with pytest.raises(TypeError) as caught:
        Measuring(lambda point: returned, names)(np.array([0.5]))
    assert str(caught.value).endswith(meant)


# ----------------------------------------------------------------------------------------------------------- data


ROWS = [
    {"x": 0.1, "cost": 1.0, "stress": 13.0},
    {"x": 0.2, "cost": None, "stress": 12.0},
    {"x": 0.3, "cost": 2.0, "stress": NAN},
]
TOLD = [{"cost": 1.0, "stress": 13.0}, {"stress": 12.0}, {"cost": 2.0}]


def columns(rows=ROWS):
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize(
    "data",
    [ROWS, columns(), ([0.1, 0.2, 0.3], {"cost": [1.0, None, 2.0], "stress": [13.0, 12.0, NAN]})],
    ids=["rows", "columns", "arrays"],
)
def test_data_have_a_column_for_every_constraint(data):
    book = so.Campaign(LINE, 0.1, value="cost", constraints={"stress": (None, 14.0)}, data=data)
    assert [book.trial(i).values for i in (1, 2, 3)] == TOLD


def test_a_table_and_a_file_go_round(tmp_path):
    pandas = pytest.importorskip("pandas")
    book = so.Campaign(LINE, 0.1, value="cost", constraints={"stress": (None, 14.0)}, data=pandas.DataFrame(ROWS))
    rows = book.trials
    with (tmp_path / "all.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for data in (tmp_path / "all.csv", book.to_dataframe(), rows):
        again = so.Campaign(LINE, 0.1, value="cost", constraints={"stress": (None, 14.0)}, data=data)
        assert [again.trial(i).values for i in (1, 2, 3)] == TOLD


@table(
    [
        ("no column", {"x": [0.1], "cost": [1.0]}, ValueError, "expected a column for each constraint", "['stress']", "['x', 'cost']"),
        ("no column beside X", ([0.1], {"cost": [1.0]}), ValueError, "expected a column for each constraint"),
        ("a word", {"x": [0.1], "cost": [1.0], "stress": ["high"]}, ValueError, "'high'", "row 0"),
        ("too few", ([0.1, 0.2], {"cost": [1.0], "stress": [1.0]}), ValueError, "as many values as points"),
        ("nothing measured", {"x": [0.1], "cost": [None], "stress": [None]}, ValueError, "at least one value"),
    ]
)  # fmt: skip
def test_data_that_cannot_be_meant_are_refused(call, error, words):
    book = so.Campaign(LINE, 0.1, value="cost", constraints={"stress": (None, 14.0)})
    refused(lambda: book.add(call), error, *words)
    assert not book.trials


# ---------------------------------------------------------------------------------------------------------- files


def test_a_file_keeps_constraints_and_what_was_told_of_them(tmp_path):
    file = tmp_path / "a.db"
    book = campaign(file=file)
    book.tell({"x": 0.5}, {"cost": 3.1, "stress": 12.0})
    limits = book.ledger.said.limits
    book.close()
    again = campaign(file=file)
    assert again.ledger.said.limits == limits and again.trial(1).values == {
        "cost": 3.1,
        "stress": 12.0,
    }
    refused(lambda: campaign(file=file, constraints={"stress": (None, 13.0)}), ValueError, "another constraints")
    refused(lambda: campaign(file=file, constraints=None), ValueError, "another constraints")
    again.change(constraints={"stress": (None, 13.0), "mass": (1.0, None)})
    assert so.Campaign.open(file).ledger.said.outputs == ("cost", "stress", "mass")
    assert so.Campaign.open(file).trials[0]["stress"] == 12.0


def test_a_file_without_constraints_is_written_as_before(tmp_path):
    """Versions that do not know them can read it."""
    from stableopt.campaign.written import as_data

    plain = so.Campaign(LINE, 0.1)
    assert "constraints" not in json.dumps(as_data(plain.ledger.said))
