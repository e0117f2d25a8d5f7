"""Page Check a quote: a vendor's claims compared with physical limits, the model and measured runs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from app import (
    answer_card,
    history,
    own_uploads,
    quote_chart,
    quote_words,
    quotes,
    report_pages,
    session_hardware,
    sharing,
)
from app.backend import backend
from app.file_marks import in_use
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import begun
from app.options import SCENARIO, Option, file_words, one_of, options, text_of, whole_of
from app.plain import plain
from app.state import clear, is_open, newest
from perfmodel.decide.quote import Checked, Quote, example_names, read_quote
from perfmodel.decide.quote.answer import QuoteAnswer
from perfmodel.decide.quote.card import advice_beside_chart, card_of_quote, chance_figures, chances, named
from perfmodel.decide.quote.claim_words import CONVENTION_WORDS
from perfmodel.decide.quote.listing import claimed, lines_of, verdict_words, worst_first
from perfmodel.decide.quote.sentence import judgement_words, shown_verdict
from perfmodel.hardware.provenance import Source
from perfmodel.model.prediction.answer_card import Card

FILLED = "fill in"
DOWNLOADED = "quote.toml"
UNSTATED = "not stated"
TALL = 320
# Height of the table of all claims [px], which scrolls.
FILE = "quote-file"
# Session key of the uploaded quote.
STATED = "It states its job and its claims, so there is nothing to fill in."
LEFT_OPEN = "quote-left-open"
# Session key: the uploaded quote for which the fields were left open.
NOT_LARGE = ("run", "cost", "chance")
# Fields of a card that the figures of its claims, or the advice on a single one, have already.
ABOVE = ("claim", "read as", "the job", "in a mail")
# Labels of lines on a claim that the fold has above its list.
DRAWN = 10
# Most claims drawn; of more, the worst.
USUAL = "images_per_second"
START = {"gpus": 32, "quantity": USUAL, "value": "40000"}
EXAMPLE = "This is an example, to show an answer: 40,000 images/s on 32 GPUs."
OWN = "a claim of your own"
QUOTE = one_of("quote", (FILLED, *example_names()), FILLED, "A public claim that comes along, or your own.")
QUOTE = QUOTE._replace(shows=lambda name: OWN if name == FILLED else quotes.title_of(name))
QUANTITY = one_of("quantity", quote_words.QUANTITIES, USUAL, "What is claimed.")._replace(
    shows=quote_words.quantity_words
)
BODY = (
    QUOTE,
    QUANTITY,
    text_of(
        "value",
        str,
        "",
        "The figure, with its unit: 40000, 90%, 600GB/s, 5PFLOP/s, 1h.",
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
    one_of(
        "convention",
        (UNSTATED, *CONVENTION_WORDS),
        UNSTATED,
        "How FLOP are counted: causal as they are computed, megatron with attention to all positions, palm "
        "with all parameters besides.",
    )._replace(label="FLOP are counted"),
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
    """The quote to check."""

    quote: Quote
    file: str
    """Its argument in the shell command: a file's name, an example's, or that of the file to download."""
    is_filled_in: bool
    """Whether it comes from the fields of the page."""
    is_example: bool = False
    """Whether these still hold what the page began with."""


def counts(name: str) -> bool:
    """Return whether an option applies to the current quote.

    A public or uploaded quote states everything itself; for the claim in the fields the quantity decides.
    """
    if name == "quote":
        return True
    if session_hardware.files("quote") or newest(QUOTE) not in (None, FILLED):
        return False
    return name not in quotes.EXTRA or quotes.goes_with(name, newest(QUANTITY) or USUAL)


def fitted(option: Option) -> Option:
    """Return an option; the field of the value with an example of the claimed quantity."""
    if option.name != "value":
        return option
    return option._replace(label=f"How much, e.g. {quote_words.example(newest(QUANTITY) or USUAL)}")


def leave_fields_open() -> None:
    """Leave the fields open when a file comes into use, whose address then has none of them."""
    marks = in_use("quote")
    if marks and st.session_state.get(LEFT_OPEN) != marks and is_open("quote"):
        fields = (each for each in BODY if each is not QUOTE)  # an example is back without the file
        clear([*fields, *(options()[name] for name in SCENARIO)])
    st.session_state[LEFT_OPEN] = marks


def quote_of(request: PageRequest) -> Given:
    """Return the quote to check: an uploaded one, an example, or that of the fields."""
    with st.sidebar:
        own_uploads.field("quote", "Or a quote's file", FILE)
    for path in session_hardware.files("quote"):
        own_uploads.in_use_line("quote", f"{STATED} It is", "Stop using it")
        return Given(quotes.uploaded_quote(path), path.name, False)
    example = request.picked.get("quote", FILLED)
    if example != FILLED:
        st.caption(f"{STATED} To check another, choose “{OWN}” as “Quote”.")
    if example == FILLED:
        is_example = {"quantity": USUAL} | dict(request.picked) == START
        return Given(quotes.filled_in(request.picked), DOWNLOADED, True, is_example)
    return Given(read_quote(example)[0], example, False)


def chance_of(checked: Sequence[Checked], card: Card) -> dict[str, answer_card.Shown]:
    """Return the chance of each of a few claims as a figure, of many their range; none where unknown."""
    if each := chance_figures(checked):
        return {label: answer_card.Shown(*words) for label, words in each.items()}
    span = chances(checked) if len(checked) > 1 else ""
    if not card.chance.startswith(span or " "):
        return {}
    return {"Chance": answer_card.Shown(span, card.chance.removeprefix(span).strip())}


def said_elsewhere(checked: Sequence[Checked], chance: Mapping[str, answer_card.Shown]) -> tuple[str, ...]:
    """Return the fields of the card whose numbers the advice, the figures or the chart have already."""
    alone = checked[0]
    if len(checked) > 1:
        return (*(NOT_LARGE if chance else ()), "limit")
    if alone.verdict == "impossible":
        return (*NOT_LARGE, "limit")
    return NOT_LARGE if alone.probability is not None and not alone.only_with else ()


def in_full(claim: Checked, index: int, words: str, sources: Mapping[str, Source]) -> None:
    """Draw a claim's verdict, and folded its sentence for a mail, arithmetic and sources.

    Parameters
    ----------
    index : its place among the claims
    words : what it is called
    """
    verdict = verdict_words(claim).partition(": ")[0]
    with st.expander(plain(f"{index + 1}. {begun(verdict)}: {words}")):
        if claim.text:
            st.markdown(plain(f"Claimed: {sentence(claim.text)}"))
        st.markdown(f"{plain(sentence(judgement_words(claim)))} Text for a mail:")
        st.code(claim.sentence, language=None, wrap_lines=True)
        st.caption(plain(f"{claim.scenario}. {' '.join(claim.reading.split())}"))
        lines = [(label, text) for label, text in lines_of(claim, sources) if label not in ABOVE]
        st.markdown("\n".join(f"* {plain(': '.join(filter(None, line)))}" for line in lines))


def drawn(checked: Sequence[Checked]) -> list[int]:
    """Return the indices of the claims to draw; of many the worst, after drawing a table of all."""
    if len(checked) <= DRAWN:
        return list(range(len(checked)))
    order = worst_first(checked)
    st.caption(
        f"The {DRAWN} worst of {len(checked)} claims are drawn; the table has all, the worst first, and the "
        "downloads in the quote's order. Click a row to draw its claim too"
    )
    event = st.dataframe(
        [row(checked[index], index) for index in order],
        hide_index=True,
        height=TALL,
        on_select=history.note_action,
        selection_mode="single-row",
        key="claims",
        column_config={"likely": st.column_config.NumberColumn(format="percent")},
    )
    picked = [order[each] for each in event.selection.get("rows", []) if each < len(order)]
    return list(dict.fromkeys([*picked, *order[:DRAWN]]))


def row(claim: Checked, index: int) -> dict[str, Any]:
    """Return a claim as a row of the table of claims."""
    return {
        "claim": index + 1,
        "verdict": shown_verdict(claim),
        "judgement": claim.judgement,
        "likely": None if claim.probability is None else round(claim.probability, 2),
        "claimed": claimed(claim),
        "limit": quotes.text(claim, claim.limit),
        "expected": "" if claim.judged_by is None else quotes.text(claim, claim.judged_by.expected),
        "in words": claim.text,
        "the job": claim.scenario,
    }


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown("Will the quote hold?", request.top):
        given = quote_of(request)
        checked = backend().check_quote(given.quote, session_hardware.calibration())
    quote = quotes.named(given.quote, checked[0]) if given.is_filled_in else given.quote
    card = card_of_quote(checked)
    with request.top:
        title = f"An example: {quote.title}" if given.is_example else quote.title
        st.subheader(plain(f"Will this hold? {title}"), anchor=False)
        chance, (advice, runs) = chance_of(checked, card), advice_beside_chart(checked)
        answer_card.show(card.model_copy(update={"advice": advice}), chance, said_elsewhere(checked, chance))
        indices = drawn(checked)
        names = [named(claim, checked) for claim in checked]
        quote_chart.draw_claims({index + 1: (names[index], checked[index]) for index in indices})
        for index in sorted(indices):
            if index + 1 in runs:
                st.caption(plain(f"Claim {index + 1}: {runs[index + 1]}."))
    if given.is_example:
        st.info(f"{EXAMPLE} Type your claim in the fields above, and describe its job in the sidebar.")
    elif given.is_filled_in:
        st.caption("Describe the job in the sidebar, and the claim in the fields above.")
    if quote.note:
        st.caption(plain(quote.note))
    sharing.here()
    for index in indices:
        in_full(checked[index], index, names[index], quote.sources)
    answer = QuoteAnswer.of(quote, checked)
    with st.container(horizontal=True):
        command = f"check-quote {file_words([given.file])}"
        copy_buttons(command, {}, _python(given.file), card=card, files=[given.file] * given.is_filled_in)
        report = report_pages.of_quote(quote, checked, shell_command(command, {}))
        download_buttons("quote", sharing.csv_of("check-quote", answer), answer.to_json, report)
        if given.is_filled_in:
            text = quotes.as_toml(quote)
            st.download_button(
                f"Download {DOWNLOADED}", text, DOWNLOADED, "application/toml", on_click="ignore"
            )


def _python(file: str) -> str:
    """Return Python code that gives the page's answer."""
    own = session_hardware.calibration() and session_hardware.own_names()["calibration"]
    calibration = f", calibration={own!r}" if own else ""
    catalogue = session_hardware.catalogue_words(", ")
    imported = "from perfmodel import Catalogue\n" if catalogue else ""
    return (
        f"{imported}from perfmodel.decide.quote import check_quote, read_quote\n\n"
        f"print(check_quote(read_quote({file!r})[0]{catalogue}{calibration}))"
    )


leave_fields_open()
page(scenario_form("quote", body=BODY, start=START, counts=counts, fitted=fitted))
