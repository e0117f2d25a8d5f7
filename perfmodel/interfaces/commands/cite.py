"""``cite``: the sources of a prediction."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.commands.explain import ExplainRequest
from perfmodel.interfaces.forms import JSON, Form

if TYPE_CHECKING:
    from perfmodel.decide.explanations.citations import Citations

KINDS = {
    "formula": "formulas that ran",
    "workload": "workload",
    "spec": "hardware",
    "software": "software",
    "price": "price of a node",
    "fit": "measurements the constants come from",
}
WIDTH = 80


def run(request: ExplainRequest, context: Context) -> "Citations":
    """Return the sources of the formulas, specs, prices and constants that a prediction used.

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import cite
    >>> [source.key for source in cite(gpus=4).sources if source.kind == "software"]
    ['pytorch/amp-note', 'pytorch/ddp-note', 'pytorch/zero-grad']
    """
    from perfmodel.decide.economics import economics
    from perfmodel.decide.explanations.citations import Citations
    from perfmodel.decide.explanations.derivation import derivation
    from perfmodel.decide.explanations.money import costs
    from perfmodel.decide.explanations.sources import assumed_of, sources_of
    from perfmodel.decide.sensitivity.elasticity import case_of
    from perfmodel.model.fitted.calibration import calibration
    from perfmodel.model.options.conditions import Conditions
    from perfmodel.model.prediction import predict

    scenario, catalogue = request.alone(), context.catalogue
    conditions = request.conditions or Conditions()
    prediction = predict(scenario, catalogue)
    case = case_of(scenario, catalogue, calibration(), conditions)
    result = derivation(case)
    assumed = assumed_of(case, result, catalogue)
    if request.conditions is None:
        case = case._replace(price=None)
    else:
        amounts, _, cost_trace = costs(case, result, prediction, conditions, catalogue)
        result.trace.ran |= cost_trace.ran
        assumed += economics(prediction, conditions, catalogue, amounts)["assumed"]
    sources = sources_of(case, result, catalogue)
    return Citations(prediction.headline, prediction.scenario, sources, assumed)


def text(answer: "Citations", request: object) -> None:
    """Print the sources by what they are used for."""
    import click

    for line in (*_wrapped(answer.title, ""), *_lines(answer)):
        click.echo(line)


def _lines(answer: "Citations") -> Iterator[str]:
    """Yield the sources under a heading per use, then the assumptions, as lines of text."""
    for kind, heading in KINDS.items():
        of_kind = [source for source in answer.sources if source.kind == kind]
        if of_kind:
            yield from ("", heading)
        for source in of_kind:
            is_read = kind in ("spec", "software", "price") and source.date
            read = f", read {source.date}" if is_read else ""
            yield from _wrapped(f"[{source.key}] {source.cited}{read}", "  ")
            if source.url:
                yield f"      {source.url}"  # not wrapped, so that it can be copied
            yield from _wrapped(f"for {', '.join(source.used_for)}", "      ")
    if answer.assumed:
        yield from ("", "assumed, with no source")
        yield from _wrapped("; ".join(answer.assumed), "  ")


def _wrapped(line: str, indent: str) -> list[str]:
    """Return a line wrapped to ``WIDTH``, with later lines indented further."""
    from perfmodel.core.sentences import wrapped

    return wrapped(line, WIDTH, indent, f"{indent}    ", breaks_words=True)


def _bibtex(answer: Any, _: object) -> str:
    """Return the sources as BibTeX."""
    words: str = answer.to_bibtex()
    return words


COMMAND = Command(
    name="cite",
    summary="The sources of the formulas, specs, prices and constants that a prediction used.",
    about="With --cost, or any option of prices, power and failures, also those of money, energy and carbon.",
    request=ExplainRequest,
    answers=("perfmodel.decide.explanations.citations:Citations",),
    run=run,
    text=text,
    forms={"bibtex": Form("Print BibTeX.", _bibtex), "json": JSON},
    examples=(
        "perfmodel cite --gpus 32",
        "perfmodel cite --gpus 16 --node aws-p3.16xlarge --algorithm tree",
        "perfmodel cite --gpus 16 --node aws-p3.16xlarge --cost --epochs 90",
    ),
    bodies={"ResNet-50 on 8 GPUs": {"workload": "resnet50", "gpus": 8}},
)
