"""What the page of a window has asked the app to run, and what came back: so that nobody reads too early.

The page's own state says that nothing runs also before the run begins that a click asked for.  Here the
messages themselves are looked at, where the browser sends and gets them.
"""

from __future__ import annotations

from playwright.sync_api import Error, Page, TimeoutError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


def _number(message: type[BackMsg] | type[ForwardMsg], name: str) -> int:
    number: int = message.DESCRIPTOR.fields_by_name[name].number
    return number


TURNS = """
runs.turn = (kind) => {  // a frame, or a moment with nothing else to do, where the browser gives none too
  runs.at = kind;
  const [ask, priority] =
    kind === "idle" ? [requestIdleCallback, "background"] : [requestAnimationFrame, "user-visible"];
  return new Promise((done) => {
    ask(done);
    setTimeout(() => scheduler.postTask(done, {priority}), 500);
  });
};
runs.slides = (each) => {  // an animation gets no time where no frames are drawn: it ends when it should have
  const end = each.effect?.getComputedTiming().endTime;
  if (each.playState !== "running" || end === Infinity) return false;
  each.seen ??= performance.now();
  if (performance.now() - each.seen > end + 2000) each.finish();
  return each.playState === "running";
};
runs.missing = () => {
  const one = "[data-testid=stAppViewContainer] h3, [data-testid=stAlert]";
  const runs_on = "[data-testid=stApp]:not([data-test-script-state=notRunning])";
  const more = `${runs_on}, [data-testid=stSkeleton], [data-stale=true]`;
  const sliding = document.getAnimations().filter(runs.slides);
  const shown = (each) => each?.cloneNode().outerHTML;
  return [
    ...(runs.asked && runs.answered ? [] : [`an answer to run ${runs.asked}`]),
    ...(document.querySelector(one) ? [] : [one]),
    ...[...document.querySelectorAll(more)].map((each) => `the end of ${shown(each)}`),
    ...sliding.map((each) => `the end of a slide, at ${each.currentTime} ms: ${shown(each.effect.target)}`),
  ];
};
"""
"""How to wait in a page, of which a busy machine may draw no frames, and for what."""
WATCH = f"""
window.runs = {{asked: 0, answered: true, closed: 0, at: "", waits_for: []}};
{TURNS}(() => {{
  const kinds = (bytes) => {{  // of a message of protobuf: the number of each field -> its value if a number
    const found = new Map();
    let at = 0;
    const whole = () => {{
      let value = 0, scale = 1;
      for (; bytes[at] > 127; scale *= 128) value += (bytes[at++] & 127) * scale;
      return value + bytes[at++] * scale;
    }};
    while (at < bytes.length) {{
      const tag = whole(), wire = tag & 7;
      let value = null;
      if (wire === 0) value = whole();
      else if (wire === 2) {{ const size = whole(); at += size; }}
      else at += wire === 1 ? 8 : 4;
      found.set(tag >>> 3, value);
    }}
    return found;
  }};
  let begun = false;
  window.WebSocket = class extends WebSocket {{
    constructor(...words) {{
      super(...words);
      this.addEventListener("close", () => runs.closed += 1);
      this.addEventListener("message", (event) => {{
        if (!(event.data instanceof ArrayBuffer)) return;
        const got = kinds(new Uint8Array(event.data));
        if (got.has({_number(ForwardMsg, "new_session")})) begun = true;
        const end = got.get({_number(ForwardMsg, "script_finished")});
        if (begun && end !== undefined && end !== {ForwardMsg.FINISHED_EARLY_FOR_RERUN}) runs.answered = true;
      }});
    }}
    send(data) {{
      if (kinds(new Uint8Array(data)).has({_number(BackMsg, "rerun_script")})) {{
        runs.asked += 1;
        runs.answered = begun = false;
      }}
      super.send(data);
    }}
  }};
}})();
"""
"""In a page, before its own scripts: note in ``runs`` what it asks for, and whether the last was answered."""

SETTLED = """async () => {
  do {
    for (const kind of ["idle", "frame", "idle"]) await runs.turn(kind);
    runs.waits_for = runs.missing();
  } while (runs.waits_for.length);
  return true;
}"""
"""Wait until the page has all it asked for, has drawn it, and nothing slides any more.

It looks when the browser has nothing else to do: what a message says is drawn a while after it came."""
DRAWN = """async () => {
  const every = (words) => [...document.querySelectorAll(words)];
  const parts = ".js-plotly-plot, .js-plotly-plot :is(.legend, .plot)";
  const places = () => JSON.stringify(every(parts).map((each) => each.getBoundingClientRect()));
  for (let before = null; ;) {
    for (const kind of [...Array(6).fill("frame"), "idle"]) await runs.turn(kind);
    const charts = every("[data-testid=stPlotlyChart]"), now = places();
    const empty = charts.filter((each) => !each.querySelector(".main-svg")).length;
    if (charts.length && !empty && now === before) return true;
    runs.waits_for = [`${charts.length} charts, ${empty} of them empty, at ${now}`];
    before = now;
  }
}"""
"""Wait until every chart is drawn and stays where it is."""


def wait(page: Page, until: str) -> None:
    """Wait for ``SETTLED`` or ``DRAWN``.

    Raises
    ------
    AssertionError : it took too long; the message says what was still waited for
    """
    try:
        page.wait_for_function(until, polling=100)
    except TimeoutError as error:
        try:
            state = page.wait_for_function(
                "() => JSON.stringify(runs)", polling=100, timeout=10_000
            ).json_value()
        except Error as silent:
            state = f"the page does not even say for what: {silent}"
        raise AssertionError(f"{page.url} still waits: {state}") from error
