"""Records: plain classes with pydantic's methods, which pydantic checks where people wrote the values."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from perfmodel import InputError, Scenario
from perfmodel.core.records.options import declared
from perfmodel.core.records.record import Record, fresh, late
from perfmodel.hardware.provenance import Quantity

OF = {"value": 3.0, "basis": "measured"}


def made(**fields):
    """Return a class of records with these fields: a name, and its type and default, if it has one."""
    annotations = {name: kind for name, (kind, *_) in fields.items()}
    defaults = {name: rest[0] for name, (_, *rest) in fields.items() if rest}
    return type("Made", (Record,), {"__annotations__": annotations, **defaults})


def test_records_are_equal_by_their_values_in_any_order():
    full = {one.field: one.default for one in declared(Scenario).values()}
    one, other = Scenario(**full), Scenario(**dict(reversed(full.items())))
    assert one == other == Scenario() == Scenario(workload="resnet50")
    assert len({one, other, Scenario()}) == 1
    assert list(vars(one)) == list(vars(other)) == list(Scenario.model_fields)


def test_copies_share_nothing_that_changes():
    quantity = Quantity(**OF)
    for again in (copy.copy(quantity), copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):
        assert again == quantity
        assert vars(again) is not vars(quantity)
    changed = quantity.model_copy(update={"note": "n"})
    assert changed.note == "n"
    assert changed.model_fields_set == {"value", "basis", "note"}
    assert quantity.note == ""
    hash(changed.model_fields_set)


def test_a_record_is_frozen():
    quantity = Quantity(**OF)
    with pytest.raises(AttributeError, match="frozen"):
        quantity.value = 4.0
    with pytest.raises(AttributeError, match="frozen"):
        del quantity.value


def test_a_late_field_is_worked_out_once_by_whatever_reads_it():
    cls = made(a=(int,), words=(str, late()))
    readers = (
        lambda one: one.words,
        lambda one: one.model_dump()["words"],
        lambda one: one.__reduce__()[1][1]["words"],
        lambda one: one.model_copy(update={"a": 2}).words,
        lambda one: repr(one).partition("words=")[2].strip("')"),
    )
    for read in readers:
        calls = []
        one = cls.model_construct(a=1, words=lambda calls=calls: calls.append(1) or "said")
        assert not calls
        assert read(one) == "said" == one.words
        assert len(calls) == 1
    assert cls.model_construct(a=1, words=lambda: "said") == cls(a=1, words="said")
    assert hash(cls.model_construct(a=1, words=lambda: "said")) == hash(cls(a=1, words="said"))
    assert list(cls(a=1, words="said").model_dump()) == ["a", "words"]
    with pytest.raises(AttributeError, match="frozen"):
        one.words = "other"


def test_a_late_field_may_have_a_default():
    cls = made(a=(int,), part=(float | None, late(None)), parts=(dict, late(fresh(dict))))
    for saved in (cls(a=1), cls.model_validate({"a": 1}), cls.model_construct(a=1)):
        assert saved.model_dump() == {"a": 1, "part": None, "parts": {}}
    assert cls(a=1).parts is not cls.model_construct(a=1).parts
    assert cls.model_construct(a=1, part=lambda: 2.0).model_dump(exclude_defaults=True) == {
        "a": 1,
        "part": 2.0,
    }


def test_defaults_that_could_be_changed_are_made_anew():
    cls = made(a=(int,), b=(list, fresh(list)))
    assert cls(a=1).b == []
    assert cls(a=1).b is not cls.model_construct(a=1).b
    assert cls.model_construct(a=1).model_dump() == {"a": 1, "b": []}


@pytest.mark.parametrize("values", [{}, {"b": 1}, {"b": 1, "zz": 3}, {"a": 1, "b": 1, "zz": 3}])
def test_what_is_missing_or_unknown_is_refused_also_where_nothing_is_checked(values):
    cls = made(a=(int,), b=(int, 2))
    with pytest.raises(TypeError, match="missing or unknown"):
        cls.model_construct(**values)
    with pytest.raises(ValidationError):
        cls(**values)


def test_it_serves_in_models_of_pydantics_own():
    class Body(BaseModel):
        scenario: Scenario
        rate: Quantity | None = None

    body = Body.model_validate({"scenario": {"gpus": 8}, "rate": OF})
    assert body.scenario == Scenario(gpus=8)
    assert body.rate == Quantity(**OF)
    with pytest.raises(ValidationError, match=r"rate\.value"):
        Body.model_validate({"scenario": {}, "rate": OF | {"value": -1.0}})
    assert "gpus" not in TypeAdapter(Scenario).json_schema()["properties"]


def test_options_are_read_from_json_under_their_written_names():
    assert Scenario.model_validate_json('{"gpus": 8, "inter-link": "ib-edr-100g"}') == Scenario(
        gpus=8, inter_link="ib-edr-100g"
    )
    with pytest.raises(InputError, match="gpus = 0: expected"):
        Scenario.model_validate_json('{"gpus": 0}')


def test_classes_whose_fields_would_be_lost_are_refused():
    with pytest.raises(TypeError, match="annotations"):
        type("Made", (Record,), {"__annotations__": {"a": "int"}})
    with pytest.raises(TypeError, match="annotate it"):
        type("More", (made(a=(int,)),), {"a": 5})


def test_correct_values_need_no_pydantic():
    code = "import sys; from perfmodel import Scenario; Scenario(gpus=8, precision='amp'); "
    code += (
        "assert 'pydantic' not in sys.modules; Scenario(precision='FP16'); assert 'pydantic' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
