"""Check a quote: a vendor's claims against physics, the model and measured runs."""

from typing import NamedTuple

import plotly.graph_objects as go
import streamlit as st

from app import charts, decisions, quotes, report_pages, session_hardware
from app.answering import answering
from app.layout import Asked, ask_scenario, downloads, mistakes_shown, shell_command, ways_out
from app.options import file_words, one_of, text_of, whole_of
from app.plain import plain
from perfmodel.quote import Checked, Quote, example_names, read_quote
from perfmodel.quote.answer import QuoteAnswer
from perfmodel.quote.listing import measured_words
from perfmodel.quote.sentence import open_clause, reached_words
from perfmodel.quote.verdict import percent

FILLED = "fill in"
NOT_COUNTED = "The other fields, also those beside the page, do not count for this quote: it states its job."
DOWNLOADED = "quote.toml"
WIDE = 8
# Times the least of what is drawn, from which equal steps are equal factors.
START = {"gpus": 32, "quantity": "images_per_second", "value": "40000"}
COLOURS = {
    "impossible": charts.RED,
    "oversized": charts.PINK,
    "optimistic": charts.ORANGE,
    "plausible": charts.GREEN,
    "possible": charts.SKY,
    "pessimistic": charts.BLUE,
}
BODY = (
    one_of("quote", (FILLED, *example_names()), FILLED, "A public claim that comes along, or your own."),
    one_of("quantity", quotes.QUANTITIES, "images_per_second", "What is claimed."),
    text_of(
        "value",
        str,
        "",
        "The figure, with its unit: 40000, 90%, 600GB/s, 5PFLOP/s, 1h.",
        label="Value, e.g. 90%",
    ),
    one_of("per", ("job", "node", "accelerator"), "job", "Of what a rate is.")._replace(
        label="A rate is of a"
    ),
    text_of("epochs", float, "", "Until trained; of a time to train.", session="quote-epochs"),
    text_of(
        "tokens", str, "", "Trained on, e.g. 1.4T; of a time or a cost to train.", session="quote-tokens"
    ),
    text_of(
        "price",
        str,
        "",
        "US dollars for an hour of one node; of costs.",
        session="quote-price",
        label="Price [USD/h]",
    ),
    whole_of(
        "from-gpus", "What an efficiency or speed-up is measured against.", label="Against so many GPUs"
    ),
    text_of(
        "size",
        str,
        "",
        "Message of a bus bandwidth, e.g. 1GB.",
        session="quote-size",
        label="Message, e.g. 1GB",
    ),
)


class Given(NamedTuple):
    """A quote that is to be checked."""

    quote: Quote
    file: str
    """What a command calls it: a file's own name, an example's, or that of the file to download."""
    is_filled_in: bool


def quote_of(asked: Asked) -> Given:
    """Return what is to be checked: an upload, an example, or the fields."""
    with st.sidebar:
        file = st.file_uploader("Or a quote's file", type=["toml"], max_upload_size=1, key="quote-file")
    if file is not None:
        st.caption(f"From {file.name}; an upload is not part of the URL. {NOT_COUNTED}")
        name = session_hardware.own_name(file.name, "quote.toml")
        return Given(quotes.handed_over(file.getvalue(), name), name, False)
    example = asked.picked.get("quote", FILLED)
    if example != FILLED:
        st.caption(f"{NOT_COUNTED} To ask about a job of your own, take “{FILLED}”.")
    if example == FILLED:
        return Given(quotes.filled_in(asked.picked), DOWNLOADED, True)
    return Given(read_quote(example)[0], example, False)


def picture(claim: Checked, index: int) -> None:
    """Draw the claim on the scale of what the model expects and what physics allows."""
    figure = go.Figure()
    for low, high, width, level in (
        (claim.low_95, claim.high_95, 6, "95 %"),
        (claim.low_80, claim.high_80, 14, "80 %"),
    ):
        if low is not None and high is not None:
            figure.add_scatter(
                x=[low, high],
                y=["", ""],
                mode="lines",
                name=f"the model, {level}",
                text=[quotes.text(claim, end) for end in (low, high)],
                hovertemplate=f"%{{text}}<extra>the model, {level}</extra>",
                line={"color": charts.SKY if width == 6 else charts.BLUE, "width": width},
            )
    near = [one for one in claim.measured if one.value > 0]
    limit, value = quotes.text(claim, claim.limit), quotes.text(claim, claim.value)
    for name, xs, symbol, colour, texts in (
        ("measured", [one.value for one in near], "x", charts.GREY, [one.words for one in near]),
        ("limit of physics", [claim.limit], "line-ns-open", charts.RED, [f"limit: {limit}"]),
        ("claimed", [claim.value], "diamond", COLOURS[claim.verdict], [f"{claim.verdict}: {value}"]),
    ):
        figure.add_scatter(
            x=xs,
            y=["" for _ in xs],
            mode="markers",
            name=name,
            text=texts,
            marker={
                "symbol": symbol,
                "size": 14,
                "color": colour,
                "line": {"width": 1 if symbol != "line-ns-open" else 3},
            },
            hovertemplate="%{text}<extra></extra>",
        )
    drawn = [claim.value, claim.limit, *(one.value for one in near)]
    drawn += [end for end in (claim.low_95, claim.high_95) if end is not None]
    if min(drawn) > 0 and max(drawn) > WIDE * min(drawn):  # the interval would be a dot
        figure.update_xaxes(type="log")
    figure.update_xaxes(title=f"{claim.quantity.replace('_', ' ')} [{claim.unit}]")
    charts.draw(figure, f"claim-{index}", f"{claim.verdict}: {value}", height=190)


def page(asked: Asked) -> None:
    """Draw the answer."""
    with mistakes_shown():
        given = quote_of(asked)
        quote = given.quote
        checked = answering().check_quote(quote, session_hardware.calibration())
    with asked.top:
        st.subheader(plain(quote.title), anchor=False)
        st.markdown(f"**{plain(decisions.of_quote(checked))}**")
    if given.is_filled_in:
        st.caption("The job is what stands beside the page; a claim about it stands in the fields.")
    if quote.note:
        st.caption(plain(quote.note))
    for index, claim in enumerate(checked):
        st.markdown(
            f"**{index + 1}. {claim.verdict.upper()}**: "
            + plain(claim.text or quotes.text(claim, claim.value))
        )
        sure = "" if claim.probability is None else f", {percent(claim.probability)} likely to be reached"
        st.markdown(f"{claim.judgement.capitalize()}{sure}. For a mail:")
        st.code(claim.sentence, language=None, wrap_lines=True)
        picture(claim, index)
        st.caption(plain(f"{claim.scenario}. {' '.join(claim.reading.split())}"))
        for line in claim.arithmetic:
            st.markdown(f"* {plain(line)}")
        for one in claim.measured:
            st.markdown(f"* measured: {plain(measured_words(one))}")
        if claim.reached_by is not None:
            st.markdown(f"* reached: {plain(reached_words(claim))}; {plain(open_clause(claim))}")
    rows = [
        {
            "verdict": c.verdict,
            "judgement": c.judgement,
            "likely": c.probability,
            "quantity": c.quantity,
            "claimed": c.value,
            "limit": c.limit,
            "expected": c.expected,
        }
        for c in checked
    ]
    with st.container(horizontal=True):
        command = f"check-quote {file_words([given.file])}"
        ways_out(command, {}, _python(given.file))
        answer = QuoteAnswer.of(quote, checked)
        report = report_pages.of_quote(quote, checked, shell_command(command, {}))
        downloads("quote", rows, answer, report)
        if given.is_filled_in:
            text = quotes.as_toml(quote)
            st.download_button(
                f"Download {DOWNLOADED}", text, DOWNLOADED, "application/toml", on_click="ignore"
            )


def _python(file: str) -> str:
    """The question in Python."""
    own = session_hardware.calibration() and session_hardware.own_names()["calibration"]
    calibration = f", calibration={own!r}" if own else ""
    return (
        "from perfmodel.quote import check_quote, read_quote\n\n"
        f"print(check_quote(read_quote({file!r})[0]{calibration}))"
    )


page(ask_scenario("quote", body=BODY, start=START))
