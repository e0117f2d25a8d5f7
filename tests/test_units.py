"""The parser at the edge: every prefix, every refusal."""

import math
import re

import pytest
from click import BadParameter
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.core.units import UNITS, dollars, duration, many, parse, show
from perfmodel.interfaces.cli.types import Count

DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


@pytest.mark.parametrize(("prefix", "size"), (DECIMAL | BINARY).items())
def test_prefixes_of_data(prefix, size):
    assert parse(f"3{prefix}B", "B") == 3 * size
    assert parse(f"3 {prefix}B/s", "B/s") == 3 * size
    for bits in ("bit/s", "b/s", "bps"):
        assert parse(f"16{prefix}{bits}", "B/s") == 2 * size


@pytest.mark.parametrize(("prefix", "size"), DECIMAL.items())
def test_prefixes_of_arithmetic_and_others(prefix, size):
    for word in ("FLOP/s", "FLOPS"):
        assert parse(f"2.5{prefix}{word}", "FLOP/s") == 2.5 * size
    assert parse(f"2{prefix}FLOP", "FLOP") == 2 * size
    assert parse(f"2{prefix}Hz", "Hz") == 2 * size
    assert parse(f"2{prefix}W", "W") == 2 * size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("145ms", 0.145),
        ("1.5us", 1.5e-6),
        ("1.5µs", 1.5e-6),
        ("1.5μs", 1.5e-6),
        ("20ns", 2e-8),
        ("3s", 3),
        ("2min", 120),
        ("2 h", 7200),
        ("1d", 86400),
        ("10m", 600),
        ("10 mins", 600),
        ("2hr", 7200),
        ("3 days", 259200),
        ("0s", 0),
        ("0.5", 0.5),
    ],
)
def test_times(text, seconds):
    assert parse(text, "s") == pytest.approx(seconds, rel=1e-15)


def test_plain_numbers_are_si():
    assert parse("100e6", "B") == parse(100e6, "B") == parse(100_000_000, "B") == 1e8
    assert parse("1e3B", "B") == 1000
    assert parse("1EB", "B") == 1e18
    assert parse(".5", "1") == 0.5


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2 days", "s", 172_800),
        ("48h", "s", 172_800),
        ("1w", "s", 604_800),
        ("2 weeks", "s", 1_209_600),
        ("1d12h", "s", 129_600),
        ("1 week 2 days 30 min", "s", 779_400),
        ("$20,000", "USD", 2e4),
        ("20k", "USD", 2e4),
        ("$ 1.5M", "USD", 1.5e6),
        ("1,234.5 USD", "USD", 1234.5),
        ("2 million dollars", "USD", 2e6),
        ("1T", "count of tokens", 1e12),
        ("300B tokens", "count of tokens", 3e11),
        ("1e12", "count of samples", 1e12),
        ("5M samples", "count of samples", 5e6),
        ("1e3h", "s", 3.6e6),
        ("1e9h", "s", 3.6e12),
        ("1e2ms", "s", 0.1),
        ("4,722 days", "s", 4722 * 86400),
        ("1.5MW", "W", 1.5e6),
    ],
)
def test_limits_of_a_run_as_people_write_them(text, unit, value):
    assert parse(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit", "hint"),
    [
        ("16Gbit", "B", "100MB or 16GiB"),
        ("16Gb/s", "B", "bits and rates are for bandwidths"),
        ("16GB", "B/s", "12.5GB/s or 25Gbit/s"),
        ("25gbit/s", "B/s", "Gbit/s"),
        ("16gb", "B", "GB"),
        ("3mB", "B", "MB"),
        ("16GB", "s", "145ms"),
        ("3x", "s", "145ms or 1.5us"),
        ("125TB", "FLOP/s", "125TFLOP/s"),
        ("1TiFLOP/s", "FLOP/s", "125TFLOP/s"),
        ("nan", "s", "145ms"),
        ("inf", "B/s", "25Gbit/s"),
        ("-5ms", "s", "negative"),
        ("1e999", "s", "too large"),
        ("1e300EB", "B", "too large"),
        ("", "B", "16GiB"),
        ("GB", "B", "16GiB"),
        ("1,5GB", "B", "16GiB"),
        ("1,5k", "USD", "$20,000"),
        ("20,00", "USD", "$20,000"),
        ("$$5", "USD", "$20,000"),
        ("1m", "USD", "m may mean M"),
        ("tomorrow", "s", "2 days"),
        ("2 days 3x", "s", "2 days"),
        ("1d -2h", "s", "2 days"),
        ("1e400d 1d", "s", "2 days"),
        ("$5", "count of tokens", "1T"),
        ("1T tokens", "count of samples", "not a number of samples; expected for example 5M samples"),
        ("5M samples", "count of tokens", "not a number of tokens; expected for example 1T"),
        ("1.5.2GB", "B", "16GiB"),
        ("1_000B", "B", "16GiB"),
        ("0x10", "B", "16GiB"),
        ("١٦B", "B", "16GiB"),
    ],
)
def test_refusals_say_what_would_be_right(text, unit, hint):
    with pytest.raises(InputError) as error:
        parse(text, unit)
    assert hint in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, True, False])
def test_bad_numbers_are_refused(value):
    with pytest.raises(InputError):
        parse(value, "s")


@given(text=st.text(max_size=20), unit=st.sampled_from(sorted(UNITS)))
def test_any_text_is_read_or_refused_in_one_line(text, unit):
    message, value = "", 0.0
    try:
        value = parse(text, unit)
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    assert 0 <= value < math.inf


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.145, "s", "145 ms"),
        (1.5e-6, "s", "1.5 µs"),
        (3e-9, "s", "3 ns"),
        (3e-12, "s", "0.003 ns"),
        (0.99996, "s", "1 s"),
        (75, "s", "75 s"),
        (600, "s", "10 min"),
        (9000, "s", "2.5 h"),
        (11.72e12, "FLOP/s", "11.7 TFLOP/s"),
        (989.4e12, "FLOP/s", "989 TFLOP/s"),
        (999.96e6, "B/s", "1 GB/s"),
        (3.125e9, "B/s", "3.12 GB/s"),
        (17179869184, "B", "16 GiB"),
        (16945512448, "B", "16.9 GB"),
        (25 * 2**20, "B", "25 MiB"),
        (1000 * 2**20, "B", "1000 MiB"),
        (102e6, "B", "102 MB"),
        (12, "B", "12 B"),
        (0, "s", "0 s"),
        (-0.145, "s", "-145 ms"),
        (1.53e9, "Hz", "1.53 GHz"),
        (300, "W", "300 W"),
        (360.25, "1/s", "360.2/s"),
        (0.457, "1", "0.457"),
        (math.inf, "s", "inf s"),
    ],
)
def test_show(value, unit, text):
    assert show(value, unit) == text


@given(
    value=st.floats(min_value=1e-6, max_value=1e18), unit=st.sampled_from(["s", "B", "B/s", "FLOP/s", "Hz"])
)
def test_what_is_shown_can_be_read_again(value, unit):
    assert parse(show(value, unit), unit) == pytest.approx(value, rel=0.006)


@given(value=st.floats(min_value=1e-6, max_value=1e15))
def test_people_read_no_powers_of_ten(value):
    words = (many(value), dollars(value), duration(max(value, 3 * 86400.0)))
    assert not [word for word in words if re.search(r"\de[+-]?\d", word)]
    assert parse(words[1], "USD") == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("text", "per_second"),
    [
        ("1.2M/s", 1.2e6),
        ("250k/s", 2.5e5),
        ("1,200,000 tokens/s", 1.2e6),
        ("1,200,000/s", 1.2e6),
        ("1.2 M tokens/s", 1.2e6),
        ("300 images per second", 300),
    ],
)
def test_rates_are_read_as_counts_are(text, per_second):
    assert parse(text, "1/s") == pytest.approx(per_second)


@pytest.mark.parametrize(("text", "days"), [("1month", 30), ("2 years", 365)])
def test_times_of_no_fixed_length_are_refused_by_one_that_has_one(text, days):
    with pytest.raises(InputError, match=f"write days: one is about {days} days"):
        parse(text, "s")


@pytest.mark.parametrize(
    ("text", "written"),
    [("8k", "8000 or 8192"), ("4M", "4000000 or 4194304"), ("1,024", "1024"), ("many", None), ("1.5", None)],
)
def test_a_count_that_must_be_whole_is_refused_with_how_to_write_it(text, written):
    with pytest.raises(BadParameter) as refused:
        Count(10**9).convert(text, None, None)
    assert refused.value.message.partition("; write ")[2] == (written or "")
