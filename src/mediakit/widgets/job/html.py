"""The parts of a live job view as HTML; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from markupsafe import Markup

from mediakit.client import JobState
from mediakit.records import JobStatus
from mediakit.safe_text import NO_HTML
from mediakit.widgets.job.card import QUIET, still_of
from mediakit.widgets.job.function_and_date import date_text
from mediakit.widgets.job.player import (
    NO_ENVIRONMENT,
    VIEW_MAX_PX,
    WARN,
    browser_url,
    jpeg_size,
    notice_html,
    original_html,
    playback_notice,
    player_html,
    rows_html,
    web_url,
)
from mediakit.widgets.job.preview import Preview
from mediakit.widgets.job.text import (
    clock_text,
    elapsed_s,
    has_output,
    over_usual,
    sent_at,
)

CSS = """
.mk-job{container-type:inline-size;width:100%;max-width:1100px;padding:12px;
 overflow:visible;box-sizing:border-box;border-radius:4px;
 border:1px solid var(--jp-border-color2);background:var(--jp-layout-color1);
 color:var(--jp-ui-font-color1);font-size:var(--jp-ui-font-size1)}
.mk-job .widget-box,.mk-job .jupyter-widgets{overflow:visible;margin:0}
.mk-job .widget-html{height:auto}
.mk-job .widget-html-content{line-height:1.5;font-size:var(--jp-ui-font-size1)}
.mk-job .widget-html:has(.mk-none){display:none}
.mk-job-main{display:flex;flex-flow:row wrap;gap:12px 20px;align-items:flex-start}
.mk-job-main>.mk-job-left{flex:0 1 640px;min-width:min(100%,300px);max-width:640px}
.mk-job-left:has(>.mk-job-stage .mk-none):not(:has(>:nth-child(2))){display:none}
.mk-job-main>.mk-job-right{flex:1 1 300px;min-width:0;gap:4px}
.mk-job-place{width:100%;max-width:640px;max-height:640px;border-radius:3px;
 background:var(--jp-layout-color2)}
.mk-job .mk-job-clip{display:block;max-width:100%;height:auto;border-radius:3px;
 margin-bottom:6px}
.mk-jobs,.mk-jobs>.mk-newest{gap:10px;overflow:visible}
.mk-newest.widget-vbox{flex-direction:column-reverse;reading-flow:flex-visual}
.mk-newest>:empty{display:none}
.mk-job .mk-names,.mk-jobs .mk-names{display:none}
.mk-job-actions{display:flex;flex-flow:row wrap;gap:8px;align-items:center}
.mk-job-actions:empty{display:none}
.mk-job .jupyter-button{width:auto;flex:0 0 auto;padding:0 12px;border-radius:3px}
.mk-job .mk-question{flex:1 1 100%}
.mk-job .mk-question ul{margin:4px 0;padding-left:20px}
.mk-job .mk-tick{width:auto;flex:1 1 100%}
.mk-job .mk-tick,.mk-job .mk-tick .widget-label-basic{width:auto;height:auto;
 min-height:28px;line-height:1.4;white-space:normal;overflow:visible}
.mk-job .mk-tick .widget-label-basic{display:flex;gap:8px;align-items:flex-start}
.mk-job .mk-tick input[type=checkbox]{margin:2px 0 0;flex:none}
.mk-job details summary{cursor:pointer}
.mk-job progress{width:100%;max-width:640px;height:6px;display:block;
 accent-color:var(--jp-brand-color1)}
.mk-job a{color:var(--jp-content-link-color)}
.mk-job a.mk-link-button{display:inline-block;padding:0 12px;line-height:28px;
 border-radius:3px;background:var(--jp-layout-color2);text-decoration:none;
 color:var(--jp-ui-font-color1)}
.mk-job code{background:none;color:inherit;padding:0;
 font-family:var(--jp-code-font-family)!important;font-size:var(--jp-code-font-size)}
"""
SHAPE = re.compile(r"(\d{1,2}):(\d{1,2})")
USUAL_SHAPE = {"video": "16/9", "image": "1/1"}


def place_html(state: JobState) -> Markup:
    """Return the place of a result that is to come, in the shape that it will have."""
    usual = USUAL_SHAPE.get(state.media_type)
    if usual is None or (state.record.status.terminal and not has_output(state)):
        return NO_HTML
    found = SHAPE.fullmatch(str(state.body.get("aspect_ratio")))
    shape = f"{found[1]}/{found[2]}" if found and int(found[2]) else usual
    place = Markup('<div class="mk-job-place" style="aspect-ratio:{}"></div>')
    return place.format(shape)


def clock_html(state: JobState, now: datetime) -> Markup:
    """Return where the time goes, and the trouble while there is some."""
    lines = []
    if not state.record.status.terminal:
        lines.append(Markup("<div>{}</div>").format(clock_text(state, now)))
    if state.trouble:
        trouble = Markup('<div style="{}">{}</div>')
        lines.append(trouble.format(WARN, state.trouble))
    return NO_HTML.join(lines)


def bar_html(state: JobState, now: datetime) -> Markup:
    """Return a bar of the time against the usual time.

    How much of the work is done is not known, so no share of it is shown: without a
    usual time, and after it, the bar only says that the job is running.
    """
    if state.record.status is not JobStatus.RUNNING:
        return NO_HTML
    usual_s, since = state.usual_runtime_s, sent_at(state)
    if not usual_s or since is None or over_usual(state, now):
        return Markup('<progress aria-label="running"></progress>')
    gone_s = min(elapsed_s(since, now), usual_s)
    label = f"{gone_s:.0f} s so far, usually {usual_s:.0f} s"
    return Markup(
        '<progress value="{:.0f}" max="{:.0f}" aria-label="{}"></progress>'
    ).format(gone_s, usual_s, label)


def stage_html(
    state: JobState,
    preview: Preview,
    environment: Mapping[str, str] = NO_ENVIRONMENT,
) -> Markup:
    """Return the result, or what became of it.

    Args:
        state: The job.
        preview: What was seen of the result.
        environment: See `player.browser_url`.
    """
    if state.record.deleted_at is not None:
        at = f"{date_text(state.record.deleted_at)} UTC"
        erasure = Markup("The service erased the result and the request on {}.")
        return erasure.format(at)
    output = state.record.output
    if not has_output(state) or output is None or output.file is None:
        return NO_HTML
    url = web_url(output.file.url)
    if preview.clip and url is not None:
        # The copy is a widget of its own beside this; see `JobPanel.play`.
        src = browser_url(url, environment)
        notice = playback_notice(preview.codec)
        said: list[str] = [notice_html(notice), quiet_html(preview.clip_note)]
        return rows_html([*said, original_html(src, "video", notice)], VIEW_MAX_PX)
    # The first frame is sharper than the poster, where the browser can decode it.
    poster = preview.poster if preview.needs_clip else None
    player = player_html(
        output.file.url,
        output.media_type,
        output.file.content_type,
        preview.codec,
        still=still_of(state, poster),
        shape=jpeg_size(preview.poster) if preview.poster else None,
        environment=environment,
    )
    return player + quiet_html(preview.clip_note or preview.trouble or "")


def quiet_html(text: str) -> Markup:
    """Return a line in the colour of asides; no text is no line."""
    return Markup('<div style="{}">{}</div>').format(QUIET, text) if text else NO_HTML
