"""How the widgets look: one style sheet in the theme's colours, and small pieces."""

from html import escape
from typing import Literal

Tone = Literal["plain", "quiet", "warn", "bad", "good"]

CSS = """
.mk-form{--mk-label:172px;--jp-widgets-inline-label-width:var(--mk-label);
 --jp-widgets-inline-width:100%;--jp-widgets-margin:0;width:100%;max-width:1240px;
 padding:2px 2px 12px;color:var(--jp-ui-font-color1);
 font-size:var(--jp-ui-font-size1)}
.mk-form .widget-box,.mk-form .jupyter-widgets{overflow:visible;margin:0}
.mk-form .mk-head{margin-bottom:12px}
.mk-head h3{margin:0 0 1px;font-size:16px;font-weight:600;
 color:var(--jp-ui-font-color0)}
.mk-head .mk-meta{display:flex;flex-wrap:wrap;gap:2px 14px;
 color:var(--jp-ui-font-color2);font-size:12px}
.mk-form .mk-body{display:flex;flex-flow:row wrap;gap:18px 28px;
 align-items:flex-start}
.mk-form .mk-controls{flex:1 1 460px;min-width:0;max-width:720px;gap:10px}
.mk-form .mk-results{flex:1 1 380px;min-width:0;gap:14px}
.mk-form .mk-fields{gap:8px;width:100%}
.mk-form .widget-inline-hbox,.mk-form .widget-toggle-buttons{display:flex;width:100%;
 height:auto;min-height:28px;align-items:flex-start;gap:10px}
.mk-form .widget-inline-hbox>.widget-label,
.mk-form .widget-toggle-buttons>.widget-label{flex:0 0 var(--mk-label);margin:0;
 width:var(--mk-label);text-align:right;line-height:1.3;padding:5px 0;height:auto;
 box-sizing:border-box;min-height:28px;white-space:normal;overflow:visible;
 color:var(--jp-ui-font-color1)}
.mk-form .widget-html{height:auto;min-height:0}
.mk-form .widget-html:not(:has(.widget-html-content>*)){display:none}
.mk-form .mk-live.widget-html:not(:has(.widget-html-content>*)){display:block;
 position:absolute}
.mk-form .widget-html-content{line-height:1.45;font-size:inherit}
.mk-form .widget-text input,.mk-form .widget-textarea textarea,
.mk-form .widget-dropdown select{border-radius:3px;font-size:13px;
 font-family:var(--jp-ui-font-family)}
.mk-form .widget-textarea textarea{min-height:76px;line-height:1.4}
.mk-form .widget-dropdown select{flex:0 1 240px;height:28px}
.mk-form .mk-box{flex:0 0 auto;width:calc(var(--mk-label) + 110px)}
.mk-form .mk-bare{flex:0 0 auto;width:84px}
.mk-form .mk-bare>.widget-label,.mk-form .mk-items .widget-label{position:absolute;
 width:1px;height:1px;min-height:0;
 padding:0;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.mk-form .mk-names{display:none}
.mk-form .jupyter-widgets-disconnected::before{content:none}
.mk-form.jupyter-widgets-disconnected::before{padding:6px 12px;margin-bottom:8px;
 content:"The kernel restarted, so this form is read-only. Run this cell again.";
 font:inherit;align-self:stretch;display:block;color:var(--jp-ui-font-color1);
 border-left:3px solid var(--jp-warn-color1);background:var(--jp-layout-color2)}
.mk-form.mk-returns.jupyter-widgets-disconnected::before{
 content:"The kernel restarted, so this form is read-only. Run this cell again: your \
settings and results come back, and running jobs go on.";}
.mk-form .mk-wide{flex:1 1 auto;width:auto;min-width:0}
.mk-form .mk-tick{width:auto;flex:0 0 auto;line-height:1.3}
.mk-form .mk-tick .widget-label-basic{display:flex;align-items:center;gap:6px;
 width:auto;height:auto;min-height:28px;padding:0;overflow:visible;
 color:var(--jp-ui-font-color1)}
.mk-form .mk-tick input[type=checkbox]{margin:0;width:16px;height:16px;flex:none}
.mk-form .mk-ticks{display:flex;flex-flow:row wrap;gap:0 16px;flex:1 1 0;min-width:0}
.mk-form .mk-row.mk-choices{gap:10px}
.mk-form .mk-group-name{flex:0 0 var(--mk-label);width:var(--mk-label);
 display:block;text-align:right;line-height:1.3;padding:5px 0;height:auto;
 white-space:normal;box-sizing:border-box;color:var(--jp-ui-font-color1)}
.mk-form .mk-axis textarea{min-height:58px}
.mk-form .mk-opens{box-shadow:none}
.mk-form>.mk-below{margin-top:16px}
.mk-form .mk-budget{flex:0 1 300px;width:auto;--mk-label:56px}
.mk-form .mk-slider{flex:1 1 160px;width:auto;max-width:320px;min-width:110px;
 height:28px;min-height:28px;align-items:center;padding:0 10px 0 14px}
.mk-form .mk-row{display:flex;flex-flow:row nowrap;align-items:flex-start;gap:6px 8px;
 width:100%}
.mk-form .mk-check{width:auto;flex:0 0 auto;line-height:1.3}
.mk-form .mk-check .widget-label-basic{display:flex;flex-direction:row-reverse;
 justify-content:flex-end;align-items:center;gap:10px;min-height:28px;padding:0;
 width:auto;height:auto;overflow:visible;line-height:1.3}
.mk-form .mk-check .widget-label-basic span{flex:0 0 var(--mk-label);
 width:var(--mk-label);text-align:right;white-space:normal;
 color:var(--jp-ui-font-color1)}
.mk-form .mk-check input[type=checkbox]{margin:0;width:16px;height:16px;flex:none}
.mk-form .mk-optional:not(:has(:checked)) .widget-label-basic::before{
 content:"service default";color:var(--jp-ui-font-color2)}
.mk-form .widget-inline-hbox:has(:disabled)>.widget-label,
.mk-form .mk-check:has(:disabled) span{color:var(--jp-ui-font-color2)}
.mk-form .jupyter-button{border-radius:3px;width:auto;flex:0 0 auto;height:28px;
 line-height:28px}
.mk-form .widget-toggle-buttons .widget-toggle-button{min-width:64px;padding:0 12px;
 margin:0 4px 0 0;box-shadow:none}
.mk-form .widget-toggle-buttons .widget-toggle-button.mod-active{
 box-shadow:inset 0 -2px 0 var(--jp-brand-color1)}
.mk-form .mk-small{padding:0 10px;font-size:12px}
.mk-form .mk-fold{background:none;padding:0 6px 0 0;font-size:13px;box-shadow:none;
 color:var(--jp-ui-font-color2);align-self:flex-start}
.mk-form .mk-note .widget-html-content{padding-left:calc(var(--mk-label) + 10px);
 font-size:12px;line-height:1.4}
.mk-form .mk-note{margin-top:-4px}
.mk-form .mk-note:has(>.widget-html-content:empty){display:none}
.mk-quiet{color:var(--jp-ui-font-color2)}
.mk-bad{color:var(--jp-error-color1)}
.mk-warn{color:color-mix(in srgb,var(--jp-warn-color1) 65%,
 var(--jp-ui-font-color0))}
.mk-form .mk-list,.mk-form .mk-media{gap:6px;width:100%}
.mk-form .mk-items{display:flex;flex-flow:row wrap;gap:6px;width:100%;
 padding-left:calc(var(--mk-label) + 10px)}
.mk-form .mk-items.mk-column{flex-flow:column}
.mk-form .mk-items:empty{display:none}
.mk-form .mk-head-line .widget-html-content{line-height:1.3;padding:5px 0}
.mk-form .mk-entries{gap:8px;width:100%}
.mk-form .mk-entries:empty,.mk-form .mk-media:empty{display:none}
.mk-form .mk-entry{gap:8px;width:100%;padding:8px 12px 12px;border-radius:4px;
 border:1px solid var(--jp-border-color2)}
.mk-form .mk-entry:not(:has(>:nth-child(2))){padding:2px 12px}
.mk-form .mk-chosen:not(:has(.mk-chosen)){
 border-left:3px solid var(--jp-brand-color1)}
.mk-form .mk-title{flex:1 1 auto;min-width:0;text-align:left;overflow:hidden;
 text-overflow:ellipsis;white-space:nowrap;color:var(--jp-ui-font-color1)}
.mk-form .mk-title.mod-active{font-weight:600}
.mk-form .mk-entry,.mk-form .mk-group{--mk-label:116px;
 --jp-widgets-inline-label-width:var(--mk-label)}
.mk-form .mk-group{display:flex;flex-flow:row wrap;gap:8px 16px;width:100%}
.mk-form .mk-list>.mk-group{padding:10px 12px 12px;border-radius:4px;
 border:1px solid var(--jp-border-color2)}
.mk-form .mk-entry .mk-list>.mk-group{padding:0;border:none}
.mk-form .mk-cell{flex:1 1 100%;min-width:0;gap:4px}
.mk-form .mk-cell:has(>.mk-box):not(:has(>.mk-note)){flex:0 0 auto}
.mk-form .mk-rows-head>.widget-label{flex:0 0 auto;width:auto;text-align:left}
.mk-form .mk-entry>.mk-note .widget-html-content{padding:0 0 6px 14px}
.mk-form .mk-add{align-self:flex-start}
.mk-form .mk-json textarea{font-family:var(--jp-code-font-family);min-height:58px}
.mk-media-found{display:flex;gap:10px;align-items:center;margin-top:4px}
.mk-media-found img{max-width:96px;max-height:64px;border-radius:3px;display:block;
 background:var(--jp-layout-color2)}
.mk-form .mk-pay{gap:8px;padding:12px 14px;border:1px solid var(--jp-border-color2);
 border-radius:4px;background:var(--jp-layout-color1)}
.mk-price{display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 12px;
 min-height:29px}
.mk-price b{font-size:20px;font-weight:600;font-variant-numeric:tabular-nums;
 color:var(--jp-ui-font-color0)}
.mk-price.mk-bad b{color:var(--jp-error-color1)}
.mk-bar{height:4px;border-radius:2px;margin:5px 0 6px;overflow:hidden;
 background:var(--jp-border-color2)}
.mk-bar i{display:block;height:100%;background:var(--jp-brand-color1)}
.mk-bar.mk-warn i{background:var(--jp-warn-color1)}
.mk-bar.mk-bad i{background:var(--jp-error-color1)}
.mk-small-print{font-size:12px}
.mk-form pre.mk-code{margin:6px 0 0;padding:8px 12px;overflow-x:auto;
 border-radius:3px;background:var(--jp-layout-color2);user-select:all;
 font-family:var(--jp-code-font-family);font-size:12px;line-height:1.45;
 color:var(--jp-content-font-color1)}
.mk-form .mk-pay-row{display:flex;flex-flow:row wrap;align-items:center;gap:8px;
 width:100%}
.mk-form .mk-go{font-weight:600;padding:0 24px;height:34px;line-height:34px}
.mk-form .mk-pay .mk-go{min-width:min(100%,290px)}
.mk-form .mk-pay>.mk-pay-row{row-gap:4px}
.mk-form .mk-pay>.mk-pay-row::after{content:"";order:1;flex:0 0 100%}
.mk-form .mk-pay .mk-push,.mk-form .mk-pay .mk-small:not(.mk-opens){order:2}
.mk-form .mk-reason{flex:1 1 120px;width:auto}
.mk-form table.mk-lines{width:100%;border-collapse:collapse;font-size:12px;
 font-variant-numeric:tabular-nums;margin:2px 0}
.mk-form table.mk-lines tr{background:none}
.mk-form table.mk-lines th,.mk-form table.mk-lines td{text-align:left;
 padding:3px 12px 3px 0;border-bottom:1px solid var(--jp-border-color2);
 font-weight:400;vertical-align:top;max-width:none;white-space:normal}
.mk-form table.mk-lines th{color:var(--jp-ui-font-color2)}
.mk-form table.mk-lines .mk-num{text-align:right;padding-right:0;white-space:nowrap}
.mk-form details summary{cursor:pointer;color:var(--jp-ui-font-color2)}
.mk-error{border-left:3px solid var(--jp-error-color1);padding:6px 12px;
 background:var(--jp-layout-color2);white-space:pre-line;overflow-wrap:anywhere}
"""


def style_block() -> str:
    """Return the style sheet as a tag; one in each form is enough."""
    return f"<style>{CSS}</style>"


def line_html(text: str, tone: Tone = "quiet") -> str:
    """Write one line of outside text in a tone; no text is no line."""
    if not text:
        return ""
    return f'<span class="mk-{tone}">{escape(text, quote=True)}</span>'


def error_html(text: str) -> str:
    """Write an error for people; it is announced by screen readers."""
    if not text:
        return ""
    return f'<div class="mk-error" role="alert">{escape(text, quote=True)}</div>'
