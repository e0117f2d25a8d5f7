"""A scenario in Python: what it is written as, and what is said of one that cannot be."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from perfmodel import InputError, Scenario, predict, sweep
from perfmodel.core.choices import LARGEST_WORLD_SIZE
from perfmodel.core.records.options import declared
from perfmodel.decide.comparison.case import case_of
from perfmodel.decide.explanations import explain
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.model.options.scenario import OPTIONS, laid_over
from perfmodel.model.options.understood import Understood

ASKED = {"workload": "vgg16", "gpus": 16, "inter-link": "ethernet-25g-tcp", "global_batch_size": 512}


def test_a_mapping_of_options_is_a_scenario_wherever_one_is_taken():
    asked = Scenario(**ASKED)
    answer = predict(asked)
    assert predict(ASKED) == answer
    assert predict(answer.scenario).iteration_time == answer.iteration_time
    assert explain(ASKED).equations == explain(asked).equations
    assert sensitivity(ASKED).rows == sensitivity(asked).rows
    assert case_of("a", ASKED) == case_of("a", asked)
    swept = sweep(**answer.scenario).table()
    assert swept["iteration_time"].tolist() == pytest.approx([answer.iteration_time], rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        ASKED,
        {"strategy": "ps", "servers": 2, "gpus": 16},
        {"strategy": "dp", "gpus": 4, "workload": "bert-large"},
        {"input": "real", "gpus": 8, "overlap": "priority"},
        {"anchor": "iteration_time=0.4s@1", "framework": "mxnet"},
    ],
)
def test_a_prediction_says_its_scenario_in_the_declared_types(options):
    understood = predict(Scenario(**options)).scenario
    assert (
        understood.keys() == Understood.__annotations__.keys() == {*Scenario.model_fields, "nodes", "scaling"}
    )
    assert TypeAdapter(Understood).validate_python(understood, strict=True) == understood


SLIPS = {
    "unknown option 'world'; nearest: world_size": {"world": 3},
    "unknown option 'node_count'; nearest: ": {"node_count": 3},
    "gpus = 0: expected greater than or equal to 1": {"gpus": 0},
    "world_size = 2.5: expected a whole number": {"world_size": 2.5},
    "inter-link = 3: expected text": {"inter-link": 3},
    "unknown strategy 'all-reduc'; nearest: all-reduce": {"strategy": "all-reduc"},
    "unknown server-shards 'evn'; nearest: even": {"server-shards": "evn"},
    "unknown overlap 'x'; known: bucketed, fused, none": {"overlap": "x"},
    "sample_bytes = 'abc' is not an amount of data; expected": {"sample_bytes": "abc"},
    "gpus and world_size: give one, they are the same": {"gpus": 1, "world_size": 1},
    "local_aggregation = 'maybe': expected true or false": {"local_aggregation": "maybe"},
    "workload = {'x': 'yyyy": {"workload": {"x": "y" * 1000}},
}


@pytest.mark.parametrize("told", SLIPS)
def test_a_slip_is_told_in_a_line_with_what_would_be_right(told):
    asked = SLIPS[told]
    for ask in (lambda: Scenario(**asked), lambda: predict(asked), lambda: sweep(**asked)):
        with pytest.raises(InputError) as error:
            ask()
        assert str(error.value).startswith(told)
        assert len(str(error.value)) < 160
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=told[:20]):
        Scenario.model_validate(asked)
    with pytest.raises(ValueError):  # pydantic's, or where two keys mean the same, our own
        TypeAdapter(Scenario).validate_python(asked)


@given(st.dictionaries(st.sampled_from([*OPTIONS, "worl", "nod"]), st.none() | st.booleans() | st.floats()))
def test_whatever_is_written_makes_a_scenario_or_a_line(options):
    made = said = None
    try:
        made = Scenario(**options)
    except InputError as error:
        said = str(error)
    assert len(said.splitlines()) == 1 if said else made == Scenario.model_validate(options)


def _values(one):
    words = st.sampled_from(one.choices) if one.choices else st.sampled_from(["x", "115kB", "true", "2"])
    numbers = st.integers(-1, 3) | st.floats(0, 2) | st.sampled_from([math.inf, 1e10, 10**12])
    return st.none() | st.booleans() | words | numbers


@given(st.fixed_dictionaries({}, optional={k: _values(one) for k, one in declared(Scenario).items()}))
def test_what_is_taken_as_it_is_pydantic_takes_as_it_is(options):
    taken = {k: v for k, v in options.items() if declared(Scenario)[k].takes(v)}
    checked = TypeAdapter(Scenario).validate_python(taken)
    assert checked == Scenario(**taken)
    assert [*map(type, vars(checked).values())] == [*map(type, vars(Scenario(**taken)).values())]


def test_a_scenario_is_copied_and_stored_as_before():
    asked = Scenario(**ASKED)
    assert asked.gpus == asked.world_size == 16
    assert pickle.loads(pickle.dumps(asked)) == copy.deepcopy(asked) == asked
    assert asked.model_fields_set == {"workload", "world_size", "inter_link", "global_batch_size"}
    assert Scenario(server_shards="Round_Robin").server_shards == "round-robin"


@given(
    st.integers(1, LARGEST_WORLD_SIZE),
    st.sampled_from(["gpus", "world_size", "world-size"]),
    st.sampled_from(["gpus", "world_size", "world-size"]),
)
def test_what_is_laid_over_takes_the_place_of_what_it_means(count, before, after):
    table = laid_over({before: 7, "global-batch-size": 64}, {after: count, "local_batch_size": 8})
    assert Scenario(**table) == Scenario(world_size=count, local_batch_size=8)
