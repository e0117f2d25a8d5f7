"""What the page of a window has asked the app to run, and what came back: so that nobody reads too early.

The page's own state says that nothing runs also before the run begins that a click asked for.  Here the
messages themselves are looked at, where the browser sends and gets them.
"""

from __future__ import annotations

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


def _number(message: type[BackMsg] | type[ForwardMsg], name: str) -> int:
    number: int = message.DESCRIPTOR.fields_by_name[name].number
    return number


WATCH = f"""
window.runs = {{asked: 0, answered: true}};
(() => {{
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
  const one = "[data-testid=stAppViewContainer] h3, [data-testid=stAlert]";
  const runs_on = "[data-testid=stApp]:not([data-test-script-state=notRunning])";
  const more = `${runs_on}, [data-testid=stSkeleton], [data-stale=true]`;
  const slides = (each) =>
    each.playState === "running" && each.effect.getComputedTiming().endTime !== Infinity;
  const idle = () => new Promise((done) => requestIdleCallback(done));
  for (;;) {
    await idle();
    await new Promise((done) => requestAnimationFrame(done));
    await idle();
    if (runs.asked && runs.answered && document.querySelector(one) && !document.querySelector(more)
        && !document.getAnimations().some(slides)) return true;
  }
}"""
"""Wait until the page has all it asked for, has drawn it, and nothing slides any more.

It looks when the browser has nothing else to do: what a message says is drawn a while after it came."""
DRAWN = """async () => {
  const every = (words) => [...document.querySelectorAll(words)];
  const parts = ".js-plotly-plot, .js-plotly-plot :is(.legend, .plot)";
  const places = () => JSON.stringify(every(parts).map((each) => each.getBoundingClientRect()));
  for (let before = null; ;) {
    for (let frames = 0; frames < 6; frames += 1) await new Promise((done) => requestAnimationFrame(done));
    await new Promise((done) => requestIdleCallback(done));
    const charts = every("[data-testid=stPlotlyChart]"), now = places();
    const drawn = charts.length && charts.every((each) => each.querySelector(".main-svg"));
    if (drawn && now === before) return true;
    before = now;
  }
}"""
"""Wait until every chart is drawn and stays where it is."""
