"""Styles, scripts and wordings of all pages, in addition to Streamlit's theme."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import streamlit as st

from app.names import price_kind
from app.options import options
from app.plain import plain
from perfmodel.core.errors import InputError, brief
from perfmodel.core.problem import called, shell
from perfmodel.core.sentences import capitalised, in_a_list

STYLE = """
<style>
[class*=st-key-runs-file] [data-testid=stFileUploaderDropzone] button:not(:disabled) {
  background: #0072B2; color: white !important;
}
[data-testid=stCaptionContainer] { color: inherit !important; opacity: 0.82; }
code, pre .token { color: inherit !important; }
@media (prefers-color-scheme: dark) {
  .stMultiSelect span[title], button[kind^=primary]:not(:disabled) { color: #10131a !important; }
  [class*=st-key-runs-file] [data-testid=stFileUploaderDropzone] button:not(:disabled) {
    background: #56B4E9; color: #10131a !important;
  }
  .stMultiSelect span:has(> span[title]) svg { color: #10131a !important; fill: #10131a !important; }
  .js-plotly-plot .js-line[style*="rgb(0, 114, 178)"] { stroke: #3A8FC7 !important; }
  .js-plotly-plot :is(.point, .scatterpts)[style*="fill: rgb(0, 114, 178)"] { fill: #3A8FC7 !important; }
  .js-plotly-plot :is(.point, .scatterpts)[style*="stroke: rgb(0, 114, 178)"] { stroke: #3A8FC7 !important; }
  .js-plotly-plot :is(.points, .legendpoints) path[style*="stroke: rgb(255, 255, 255)"] {
    stroke: #16151480 !important;
  }
}
.js-plotly-plot :is([class$=tick] text, [class$=title], .colorbar text, .legendtext, .annotation-text),
.js-plotly-plot :is(.bartext-outside, .textpoint text) {
  fill: currentColor !important;
}
.js-plotly-plot .textpoint text { fill: currentColor !important; }
:is(a, button, summary, [role=slider], [role=tab], [tabindex="0"]):not(input, textarea):focus-visible,
label:has(:focus-visible) {
  outline: 2px solid currentColor !important;
  outline-offset: 2px;
}
[data-testid=stSidebar][data-collapsed=true] [data-testid=stSidebarContent] { display: none; }
[data-testid=stMainBlockContainer] { padding-top: 4.5rem; padding-bottom: 4rem; }
[data-testid=stLayoutWrapper]:has(> .st-key-page-wide, > .st-key-completed) { display: none; }
@media (min-width: 641px) {
  .st-key-page-body > * { min-width: 10.5rem; }
  .st-key-page-body > :only-child { max-width: 30rem; }
  .st-key-page-body > .st-key-option-quantity { min-width: 14rem; }
  .st-key-page-body > [class*=st-key-option-fleets] { min-width: 13rem; }
}
@media (min-width: 1200px) {
  .st-key-page-body > [class*=st-key-option-fleets] { min-width: 30%; }
}
.stMultiSelect [data-testid=stMultiSelectTagsContainer] { flex-wrap: wrap; height: auto; max-height: none; }
.stMultiSelect :is([role=group], span):has(> [data-testid=stMultiSelectTagsContainer], > span[title]) {
  height: auto; min-height: 28px; max-height: none;
}
.stMultiSelect span > span[title] { white-space: normal; height: auto; }
[data-testid=stMain] :has(h3) ~ * h3 { font-size: 1.25rem; }
.file-line { font: 0.875rem/1.6 monospace; padding-left: 1.5rem; text-indent: -1.5rem; }
.answer-figures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.answer-figures > div { flex: 1 1 9rem; max-width: 20rem; }
.answer-label, .answer-rows dt { opacity: 0.75; font-size: 0.875rem; line-height: 1.6; }
.answer-label::first-letter, .answer-rows dt::first-letter { text-transform: uppercase; }
.answer-value { font-size: 2rem; line-height: 1.25; }
.answer-unit { font-size: 1rem; }
.answer-words { font-size: 1.25rem; line-height: 1.3; text-wrap: balance; }
.answer-rest { font-size: 0.875rem; line-height: 1.4; margin-top: 0.25rem; opacity: 0.82; }
.answer-rows { display: grid; grid-template-columns: 5.5rem 1fr; gap: 0.25rem 0.75rem; }
.answer-rows, .answer-rows :is(dt, dd) { margin: 0 !important; padding: 0 !important; }
[data-testid=stPopoverBody] [data-testid=stCode] > :has(button) {
  opacity: 1 !important; visibility: visible !important;
}
[data-testid=stPopoverBody] [data-testid=stCode] pre { padding-right: 3.5rem !important; }
.copied { margin: 0 !important; font-size: 0.875rem; }
.st-key-place { margin-bottom: -1rem; }
.answer-rows dd { overflow-wrap: anywhere; font-size: 0.9375rem; line-height: 1.5; }
[data-testid=stMarkdownContainer]:has(> table) { overflow-x: auto; }
[data-testid=stMarkdownContainer] > table td:not(:first-child) { white-space: nowrap; }
[class*=st-key-ratios] table td:is(*, :not(:first-child)) { white-space: normal; }
[class*=st-key-ratios] table td:first-child { overflow-wrap: anywhere; }
.st-key-compared-charts > * { flex: 1 1 20rem !important; min-width: min(20rem, 100%); }
[class*=st-key-sources] [data-testid=stMarkdownContainer] > table td:last-child { white-space: normal; }
[class*=st-key-wrapped] [data-testid=stMarkdownContainer] > table td { white-space: normal !important; }
[class*=st-key-wrapped] td:first-child { min-width: 7rem; }
:is(.st-key-machine-prices, .st-key-option-fleets-global-batch-size)
  button:is([data-testid$=StepUp], [data-testid$=StepDown]) { display: none; }
.st-key-wrapped-kinds td:first-child { min-width: 0; }
.st-key-wrapped-fleets td:first-child { min-width: 5.5rem; }
.st-key-wrapped-changes td:first-child span { display: block; opacity: 0.8; }
.st-key-sharing, .st-key-sharing [data-testid=stHorizontalBlock] { gap: 0.375rem !important; }
.st-key-sharing button { padding: 0.125rem 0.5rem; min-height: 2rem; }
.st-key-sharing button p { font-size: 0.8125rem; }
@media (max-width: 640px) {
  [data-testid=stMarkdownContainer] > table { min-width: 36rem; }
  :is([class*=st-key-ratios], [class*=st-key-sources], [class*=st-key-wrapped]) table {
    min-width: 0; font-size: 0.875rem;
  }
  :is([class*=st-key-ratios], [class*=st-key-sources], [class*=st-key-wrapped]) :is(td, th) {
    padding: 0.375rem;
  }
  .js-plotly-plot .modebar { display: none !important; }
  .answer-value { font-size: 1.75rem; }
  .st-key-page-body > :is(.st-key-option-networks, .st-key-option-strategies, .st-key-option-id),
  .st-key-page-body > .st-key-option-fleets-machine { min-width: 100%; }
  [data-testid=stExpandSidebarButton]::after { content: "Menu and options"; font-size: 0.9rem; }
  [data-testid=stExpandSidebarButton] { width: auto; gap: 0.4rem; padding-right: 0.5rem; }
}
</style>
"""
"""Captions, code and texts of charts have a contrast of at least 4.5; what has the keyboard's focus has a
frame; no blank space above the first line; headings after a page's title are smaller than it; the keyboard
skips a collapsed sidebar; on a phone Plotly's toolbar, which would cover legends, is hidden, and the button
of the sidebar has a label."""
SCRIPT = """
<script>
if (!window.wideScrolls) {
  window.wideScrolls = true;
  const names = { "katex-display": "equation" };
  const wide = ".katex-display:not([tabindex]), pre:not([tabindex]), "
    + "[data-testid=stMarkdownContainer]:not([tabindex]):has(> table)";
  const menu = "ul[data-testid=stSidebarNavItems]";
  const reach = () => {
    document.querySelectorAll(wide).forEach((each) => {
      each.tabIndex = 0; each.role = "group"; each.ariaLabel = names[each.className] || "text";
    });
    document.querySelectorAll(`${menu}:not([role])`).forEach((each) => { each.role = "group"; });
    document.querySelectorAll(`${menu} li:not([role])`).forEach((each) => { each.role = "none"; });
  };
  new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
}
</script>
"""
"""Makes wide equations and files, which scroll, focusable by the keyboard; takes the roles of a list from the
menu on a phone, whose groups are no list's items."""
SIDEBAR = """
<script>
if (!window.sidebarFollows) {
  window.sidebarFollows = true;
  const opener = "[data-testid=stExpandSidebarButton]";
  const closer = "[data-testid=stSidebarCollapseButton] button";
  const above = "[role=listbox], [role=dialog], [role=tooltip]";
  const focus = (selector, tries) => {
    const found = document.querySelector(selector);
    if (found) found.focus();
    if (tries > 0 && document.activeElement !== found) setTimeout(focus, 50, selector, tries - 1);
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest(opener)) focus(closer, 20);
    else if (event.target.closest(closer)) focus(opener, 20);
  }, true);
  document.addEventListener("keydown", (event) => {
    const inside = event.target.closest("[data-testid=stSidebar]") && innerWidth < 769;
    if (event.key !== "Escape" || !inside || document.querySelector(above)) return;
    document.querySelector(closer).click();
  }, true);
}
</script>
"""
"""Moves the keyboard's focus into the sidebar when it opens and back when it closes; on a phone, where it
covers the page, Escape closes it."""
_COMMAND = re.compile(r"perfmodel [\w-]+ --.*", re.DOTALL)
"""A command with options, which ends a note."""
_PRICING = re.compile(r"(?<=--pricing )([\w,-]+)(?: \(default: ([\w-]+)\))?")
"""The kinds of price after their option, and the default."""
_ADDITION = re.compile(r" [\[(].*")
_NODE = re.compile(r"(?<![\w-])node(?=s?\b(?!-))")
_NAME = re.compile(r"\S*\d")
_NUMBER = re.compile(r"\d[\d,.]*")


@cache
def _labels() -> dict[str, str]:
    """Return option name -> label, over the commands of all pages."""
    return {
        name: option.label
        for command in ("stragglers", "collective", "plan", "predict")
        for name, option in options(command).items()
    }


def label(option: str) -> str:
    """Return an option as pages label it, without a unit or addition; what no page has as the shell names it.

    >>> label("price"), label("no-network-cap"), label("unknown")
    ('“Price of a machine”', '“Network limit of a machine holds”', '--unknown')
    """
    known = _labels().get(option.removeprefix("no-"))
    return shell(option) if known is None else f"“{_ADDITION.sub('', known)}”"


def labelled(note: str) -> str:
    """Return a note with its options as pages label them; a command, at its end or in backquotes, as it is.

    >>> labelled("no price is known: give --price"), labelled("`perfmodel predict --price 3`")
    ('no price is known: give “Price of a machine”', '`perfmodel predict --price 3`')
    >>> labelled("at spot prices (--pricing on-demand,spot)")
    'at spot prices (“Kind of price” on demand and spot)'
    >>> labelled("give --price, or: perfmodel plan --price 3")
    'give “Price of a machine”, or: perfmodel plan --price 3'
    """
    note = note.replace("perfmodel plan --have says", "the page “Add machines” says")
    typed = None if "`" in note else _COMMAND.search(note)
    if typed:
        return labelled(note[: typed.start()]) + typed[0]
    words = note.replace("perfmodel layouts", "the page “Transformers”").replace("NODE=USD", "MACHINE=USD")
    words = words.replace("perfmodel fits", "the page “Will it fit”")
    return called(_PRICING.sub(_price_kinds, words), label)


def _price_kinds(kinds: re.Match[str]) -> str:
    """Return kinds of price as the choices of their field are called."""
    default = f" (default: {price_kind(kinds[2])})" if kinds[2] else ""
    return f"{in_a_list(map(price_kind, kinds[1].split(',')))}{default}"


def refused_words(error: InputError) -> str:
    """Return what is wrong with an input, its options as pages label them."""
    return brief(error.words(label))


def for_planners(text: str) -> str:
    """Return text for pages: options by their labels, and ``machine`` for ``node``.

    >>> for_planners("Links of a node, with --rack-nodes.")
    'Links of a machine, with “Machines of a rack”.'
    """
    return _NODE.sub("machine", labelled(text))


def main_number(label: str, value: str, ends: str | None) -> None:
    """Draw a main number with its 80 % interval below."""
    below = None if ends is None else f"80 %: {ends}"
    st.metric(label, value, delta=below, delta_color="off", delta_arrow="off", width="content")


def option_value_words(option: str) -> str:
    """Return an option of the command line with its value as text with the option's label.

    >>> option_value_words("--workload resnet50"), option_value_words("--unknown 2")
    ('Workload: resnet50', 'unknown: 2')
    """
    name, _, value = option.removeprefix("--").partition(" ")
    return f"{_labels().get(name, name)}: {value}" if value else labelled(option)


def grouped(warnings: Iterable[str]) -> list[str]:
    """Return warnings; of those that differ only in numbers the last, with the count of the others.

    One that another begins with says nothing more, and is left out.

    >>> grouped(["2 GPUs wait 1.5%", "4 GPUs wait 2%", "memory is short"])
    ['4 GPUs wait 2% (and 1 more with other numbers)', 'memory is short']
    >>> grouped(["by 3 runs: computation x 1.1", "by 3 runs: computation x 1.1; rate of NVLink x 0.9"])
    ['by 3 runs: computation x 1.1; rate of NVLink x 0.9']
    """
    groups: dict[str, list[str]] = {}
    each = [*dict.fromkeys(warnings)]
    for warning in each:
        if any(other.startswith(warning) and other != warning for other in each):
            continue
        groups.setdefault(_NUMBER.sub("#", warning), []).append(warning)
    return [
        same[-1] + (f" (and {len(same) - 1} more with other numbers)" if len(same) > 1 else "")
        for same in groups.values()
    ]


def begun(text: str) -> str:
    """Return text with its first letter in upper case, unless its first word contains a digit, as names do.

    >>> begun("memory is short"), begun("topk:0.01 keeps what it left out")
    ('Memory is short', 'topk:0.01 keeps what it left out')
    """
    return text if _NAME.match(text) else capitalised(text)


def show_warnings(warnings: Iterable[str]) -> None:
    """Draw warnings in one box, if there are any."""
    lines = [plain(for_planners(begun(each))) for each in grouped(warnings)]
    if lines:
        st.warning(lines[0] if len(lines) == 1 else "\n".join(f"* {line}" for line in lines))
