"""How the widgets look: one style sheet in the theme's colours, and small pieces."""

from html import escape
from typing import Literal

Tone = Literal["plain", "quiet", "warn", "bad", "good"]

CSS = """
.mk-form{--mk-label:auto;--mk-line:var(--jp-border-color2,#e0e0e0);
 --mk-edge:var(--jp-border-color1,#bdbdbd);--mk-ink:var(--jp-ui-font-color1,#212121);
 --mk-quiet:color-mix(in srgb,var(--jp-ui-font-color0,#000) 68%,
 var(--jp-layout-color1,#fff));
 --mk-bg:var(--jp-layout-color1,#fff);
 --mk-panel:color-mix(in srgb,var(--jp-ui-font-color0,#000) 4%,
 var(--mk-bg));
 --mk-blue:var(--jp-brand-color1,#1976d2);
 --mk-accent:color-mix(in srgb,var(--mk-blue) 78%,var(--jp-ui-font-color0,#000));
 --mk-soft:color-mix(in srgb,var(--mk-blue) 12%,var(--mk-bg));
 --jp-widgets-inline-label-width:auto;--jp-widgets-inline-width:100%;
 --jp-widgets-margin:0;width:100%;max-width:1240px;box-sizing:border-box;
 padding:2px 2px 12px;color:var(--mk-ink);font-size:13px;container-type:inline-size}
.mk-form .widget-box,.mk-form .jupyter-widgets{overflow:visible;margin:0}
.mk-form .mk-head{margin-bottom:16px}
.mk-head .mk-top{display:flex;flex-wrap:wrap;gap:2px 16px;align-items:baseline;
 justify-content:space-between}
.mk-head h3{margin:0 0 1px;font-size:16px;font-weight:600;
 color:var(--jp-ui-font-color0)}
.mk-head .mk-meta{display:flex;flex-wrap:wrap;gap:2px 14px;
 color:var(--mk-quiet);font-size:12px}
.mk-form .mk-body{display:grid;grid-template-columns:minmax(0,1fr);gap:20px 24px;
 align-items:start;overflow:visible}
.mk-form .mk-controls{min-width:0;max-width:720px;gap:14px}
.mk-form .mk-results{min-width:0;gap:14px}
.mk-form .mk-results:empty{display:none}
@container (min-width:860px){
 .mk-form .mk-body{grid-template-columns:minmax(0,1fr) minmax(0,1fr)}
 .mk-form .mk-results:empty{display:grid;place-items:center;aspect-ratio:16/9;
  border:1px dashed var(--mk-line);border-radius:6px;color:var(--mk-quiet);
  font-size:12px}
 .mk-form .mk-results:empty::before{content:"Your results appear here."}
}
.mk-form .mk-fields{display:flex;flex-flow:row wrap;align-items:flex-start;
 gap:14px 20px;width:100%}
.mk-form .mk-fields>*{flex:1 1 100%;min-width:0;max-width:100%}
.mk-form .mk-fields>.mk-choice,.mk-form .mk-fields>.mk-box,
.mk-form .mk-fields>.mk-check,.mk-form .mk-fields>.mk-seed{flex:0 1 auto;width:auto}
.mk-form .widget-inline-hbox,.mk-form .widget-toggle-buttons{display:flex;
 flex-flow:column nowrap;width:100%;height:auto;min-height:28px;
 align-items:stretch;gap:4px}
.mk-form .widget-inline-hbox>.widget-label,
.mk-form .widget-toggle-buttons>.widget-label{flex:0 0 auto;margin:0;width:auto;
 max-width:100%;text-align:left;line-height:18px;padding:0;height:auto;
 font-weight:600;white-space:normal;overflow:visible;color:var(--mk-ink)}
.mk-form .widget-html{height:auto;min-height:0}
.mk-form .widget-html:not(:has(.widget-html-content>*)){display:none}
.mk-form .mk-live.widget-html:not(:has(.widget-html-content>*)){display:block;
 position:absolute;width:0;overflow:hidden}
.mk-form .widget-html-content{line-height:1.45;font-size:inherit;
 overflow-wrap:anywhere}
.mk-form .widget-text input,.mk-form .widget-textarea textarea,
.mk-form .widget-dropdown select{border:1px solid var(--mk-edge);border-radius:4px;
 font:13px/1.4 var(--jp-ui-font-family);padding:5px 8px;width:100%;
 box-sizing:border-box;height:auto;min-height:30px;flex:none;color:var(--mk-ink);
 background-color:var(--mk-bg)}
.mk-form .widget-text input:focus,.mk-form .widget-textarea textarea:focus,
.mk-form .widget-dropdown select:focus{outline:2px solid var(--mk-blue);
 outline-offset:-1px;border-color:transparent}
.mk-form .widget-text input::placeholder,
.mk-form .widget-textarea textarea::placeholder{color:var(--mk-quiet);opacity:1}
.mk-form .widget-textarea textarea{min-height:76px;resize:vertical}
.mk-form .widget-dropdown select{max-width:280px;padding-right:26px;appearance:none;
 background-image:linear-gradient(45deg,transparent 50%,var(--mk-ink) 50%),
 linear-gradient(-45deg,transparent 50%,var(--mk-ink) 50%);
 background-position:right 14px center,right 9px center;background-size:5px 5px;
 background-repeat:no-repeat}
.mk-form .mk-choice{min-width:120px}
.mk-form .mk-box{width:180px}
.mk-form .mk-bare{flex:0 0 auto;width:84px}
.mk-form .mk-bare>.widget-label,.mk-form .mk-items .widget-label{position:absolute;
 width:1px;height:1px;min-height:0;
 padding:0;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.mk-form .mk-names{display:none}
.mk-form .jupyter-widgets-disconnected::before{content:none}
.mk-form.jupyter-widgets-disconnected::before{padding:6px 12px;margin-bottom:8px;
 content:"The kernel restarted, so this form is read-only. Run this cell again.";
 font:inherit;align-self:stretch;display:block;color:var(--mk-ink);
 border-left:3px solid var(--jp-warn-color1);background:var(--mk-panel)}
.mk-form.mk-returns.jupyter-widgets-disconnected::before{
 content:"The kernel restarted, so this form is read-only. Run this cell again: your \
settings and results come back, and running jobs go on.";}
.mk-form .mk-wide{flex:1 1 auto;width:auto;min-width:0}
.mk-form .mk-tick{width:auto;flex:0 0 auto;line-height:1.3}
.mk-form .mk-tick .widget-label-basic{display:flex;align-items:center;gap:6px;
 width:auto;height:auto;min-height:28px;padding:0;overflow:visible;
 color:var(--mk-ink)}
.mk-form input[type=checkbox],.mk-form input[type=radio]{
 accent-color:var(--mk-blue);margin:0;width:16px;height:16px;flex:none}
.mk-form .mk-ticks{display:flex;flex-flow:row wrap;gap:0 16px;flex:1 1 0;min-width:0}
.mk-form .mk-row.mk-choices{flex-flow:column;gap:2px}
.mk-form .mk-group-name{flex:none;width:auto;display:block;text-align:left;
 line-height:18px;padding:0;height:auto;font-weight:600;white-space:normal;
 box-sizing:border-box;color:var(--mk-ink)}
.mk-form .mk-axis textarea{min-height:58px}
.mk-form>.mk-below{margin-top:16px}
.mk-form .mk-budget{flex:0 1 300px;width:auto}
.mk-form .mk-slider{flex:1 1 160px;width:auto;min-width:90px;max-width:420px;
 height:28px;min-height:28px;justify-content:center;padding:0 10px}
.mk-form .mk-slider .noUi-connect{background:var(--mk-blue)}
.mk-form .mk-row{display:flex;flex-flow:row wrap;align-items:flex-end;gap:6px 8px;
 width:100%}
.mk-form .mk-number{display:grid;grid-template-columns:84px minmax(0,1fr);
 gap:4px 12px;align-items:center}
.mk-form .mk-number>.mk-box{display:contents}
.mk-form .mk-number>.mk-box>.widget-label,.mk-form .mk-number>.mk-check{
 grid-column:1/-1}
.mk-form .mk-number>.mk-box>input{grid-column:1}
.mk-form .mk-number>.mk-slider{margin-top:8px}
.mk-form .mk-check{width:auto;line-height:1.3}
.mk-form .mk-check .widget-label-basic{display:flex;flex-flow:row wrap;
 align-items:center;gap:2px 8px;min-height:28px;padding:0;width:auto;height:auto;
 overflow:visible;line-height:1.3}
.mk-form .mk-check .widget-label-basic span{white-space:normal;font-weight:600;
 color:var(--mk-ink)}
.mk-form .mk-optional:not(:has(:checked)) .widget-label-basic::after{
 content:"Service default";font-size:12px;color:var(--mk-quiet)}
.mk-form .widget-inline-hbox:has(:disabled)>.widget-label,
.mk-form .mk-check:has(:disabled) span{color:var(--mk-quiet)}
.mk-form .jupyter-button{border:1px solid var(--mk-line);border-radius:4px;width:auto;
 flex:0 0 auto;height:30px;line-height:28px;padding:0 12px;font-size:13px;
 background:var(--mk-bg);color:var(--mk-ink);box-shadow:none}
.mk-form .jupyter-button:hover:enabled{background:var(--mk-panel);box-shadow:none}
.mk-form .jupyter-button:focus-visible,.mk-form summary:focus-visible{
 outline:2px solid var(--mk-blue);outline-offset:1px}
.mk-form .jupyter-button.mod-active{background:var(--mk-soft);color:var(--mk-accent);
 border-color:var(--mk-blue);font-weight:600}
.mk-form .jupyter-button:disabled{opacity:.55}
.mk-form .jupyter-button.mod-primary{background:var(--mk-accent);
 border-color:var(--mk-accent);color:var(--mk-bg);font-weight:600}
.mk-form .jupyter-button.mod-primary:hover:enabled{
 background:color-mix(in srgb,var(--mk-accent) 88%,var(--jp-ui-font-color0))}
.mk-form .jupyter-button.mod-danger{border-color:var(--jp-error-color1);
 color:var(--jp-error-color1)}
.mk-form .widget-toggle-buttons>:not(.widget-label){display:flex;flex-flow:row wrap;
 gap:4px 0}
.mk-form .widget-toggle-buttons .widget-toggle-button{min-width:0;padding:0 14px;
 margin:0;border-radius:0;border-left-width:0}
.mk-form .widget-toggle-buttons .widget-toggle-button:first-child{
 border-radius:4px 0 0 4px;border-left-width:1px}
.mk-form .widget-toggle-buttons .widget-toggle-button:last-child{
 border-radius:0 4px 4px 0}
.mk-form .widget-toggle-buttons .widget-toggle-button.mod-active{
 box-shadow:inset 0 0 0 1px var(--mk-blue)}
.mk-form .mk-small{padding:0 10px;font-size:12px;height:28px;line-height:26px}
.mk-form .jupyter-button.mk-quiet-button{border-color:transparent;background:none;
 color:var(--mk-quiet)}
.mk-form .jupyter-button.mk-fold,.mk-form .jupyter-button.mk-opens,
.mk-form details summary{border:1px solid transparent;background:none;
 padding:0 4px 0 0;font-size:13px;font-weight:400;color:var(--mk-quiet);
 align-self:flex-start;list-style:none;cursor:pointer}
.mk-form .jupyter-button.mk-fold:hover,.mk-form .jupyter-button.mk-opens:hover,
.mk-form details summary:hover{background:none;color:var(--mk-ink)}
.mk-form .mk-fields>.mk-fold{flex:0 0 auto}
.mk-form .mk-fold::before,.mk-form .mk-opens::before,
.mk-form details summary::before{content:"";display:inline-block;width:0;height:0;
 margin:0 7px 1px 3px;border:4px solid transparent;border-left:5px solid;
 border-right:0}
.mk-form .mk-fold.mod-active::before,.mk-form .mk-opens.mod-active::before,
.mk-form details[open]>summary::before{transform:rotate(90deg)}
.mk-form .mk-note .widget-html-content{font-size:12px;line-height:1.4}
.mk-form .mk-fields>.mk-note{margin-top:-10px}
.mk-form .mk-note:has(>.widget-html-content:empty){display:none}
.mk-quiet{color:color-mix(in srgb,var(--jp-ui-font-color0,#000) 68%,
 var(--jp-layout-color1,#fff))}
.mk-bad{color:color-mix(in srgb,var(--jp-error-color1,#c62828) 80%,
 var(--jp-ui-font-color0,#000))}
.mk-warn{color:color-mix(in srgb,var(--jp-warn-color1) 55%,
 var(--jp-ui-font-color0))}
.mk-form .mk-list,.mk-form .mk-media{gap:6px;width:100%}
.mk-form .mk-items{display:flex;flex-flow:row wrap;gap:6px;width:100%}
.mk-form .mk-items.mk-column{flex-flow:column}
.mk-form .mk-items:empty{display:none}
.mk-form .mk-head-line{flex-flow:row wrap;align-items:baseline;gap:2px 8px}
.mk-form .mk-row>.mk-head-line{flex:1 1 160px;align-self:center;min-height:0}
.mk-form .mk-head-line .widget-html-content{line-height:1.3}
.mk-form .mk-media>.mk-media>.mk-media .mk-wide{flex-flow:row nowrap;
 align-items:center;gap:8px}
.mk-form .mk-media>.mk-media>.mk-media .mk-wide>.widget-label{flex:0 0 auto;
 min-width:58px;font-weight:400}
.mk-form .mk-media>.mk-media>.mk-media .mk-wide>input{flex:1 1 120px;width:auto;
 min-width:0}
.mk-form .mk-entries{gap:8px;width:100%}
.mk-form .mk-entries:empty,.mk-form .mk-media:empty{display:none}
.mk-form .mk-entry{gap:8px;width:100%;padding:8px 12px 12px;border-radius:6px;
 box-sizing:border-box;border:1px solid var(--mk-line)}
.mk-form .mk-entry:not(:has(>:nth-child(2))){padding:2px 12px}
.mk-form .mk-chosen:not(:has(.mk-chosen)){border-left:3px solid var(--mk-blue)}
.mk-form .jupyter-button.mk-title{flex:1 1 90px;min-width:0;text-align:left;
 overflow:hidden;text-overflow:ellipsis;white-space:nowrap;color:var(--mk-ink)}
.mk-form .jupyter-button.mk-title.mod-active{font-weight:600}
.mk-form .mk-entry>.mk-row{align-items:center}
.mk-form .mk-group{display:flex;flex-flow:row wrap;gap:12px 16px;width:100%;
 box-sizing:border-box}
.mk-form .mk-list>.mk-group{padding:10px 12px 12px;border-radius:6px;
 border:1px solid var(--mk-line)}
.mk-form .mk-entry .mk-list>.mk-group{padding:0;border:none}
.mk-form .mk-cell{flex:1 1 100%;min-width:0;gap:4px}
.mk-form .mk-cell:has(>.mk-box):not(:has(>.mk-note)){flex:0 1 auto}
.mk-form .mk-entry>.mk-note .widget-html-content{padding:0 0 6px 14px}
.mk-form .mk-add{align-self:flex-start}
.mk-form .mk-json textarea{font-family:var(--jp-code-font-family);min-height:58px}
.mk-media-found{display:flex;gap:10px;align-items:center;margin-top:4px}
.mk-media-found img{max-width:96px;max-height:64px;border-radius:3px;display:block;
 background:var(--jp-layout-color2)}
.mk-form .mk-pay{gap:8px;padding:14px 16px;border:1px solid var(--mk-line);
 border-radius:6px;background:var(--mk-panel);box-sizing:border-box}
.mk-form .mk-amount{flex:1 1 auto;width:auto;min-width:0}
.mk-price{display:flex;flex-wrap:wrap;align-items:center;gap:2px 10px;
 min-height:30px}
.mk-price b{font-size:22px;line-height:30px;font-weight:700;
 font-variant-numeric:tabular-nums;color:var(--jp-ui-font-color0)}
.mk-price.mk-bad b{color:inherit}
.mk-tag{font-size:11px;line-height:16px;padding:1px 7px;border-radius:9px;
 background:color-mix(in srgb,var(--jp-ui-font-color0,#000) 10%,
 var(--jp-layout-color1,#fff));
 color:color-mix(in srgb,var(--jp-ui-font-color0,#000) 80%,
 var(--jp-layout-color1,#fff))}
.mk-bar{height:4px;border-radius:2px;margin:2px 0 6px;overflow:hidden;
 background:var(--jp-border-color2)}
.mk-bar i{display:block;height:100%;background:var(--jp-brand-color1)}
.mk-bar.mk-warn i{background:var(--jp-warn-color1)}
.mk-bar.mk-bad i{background:var(--jp-error-color1)}
.mk-small-print{font-size:12px}
.mk-form pre.mk-code{margin:6px 0 0;padding:8px 12px;overflow-x:auto;
 border-radius:4px;background:var(--mk-panel);user-select:all;
 font-family:var(--jp-code-font-family);font-size:12px;line-height:1.45;
 color:var(--jp-content-font-color1)}
.mk-form .mk-pay-row{display:flex;flex-flow:row wrap;align-items:center;gap:8px 12px;
 width:100%}
.mk-form .mk-pay-row .mk-push{order:0}
.mk-form .jupyter-button.mk-go{font-weight:600;padding:0 20px;height:36px;
 line-height:34px;max-width:100%}
.mk-form .mk-reason{flex:none;width:100%}
.mk-form .mk-pay>.mk-reason .widget-html-content{text-align:right}
.mk-form table.mk-lines{width:100%;border-collapse:collapse;font-size:12px;
 font-variant-numeric:tabular-nums;margin:8px 0 2px;color:var(--mk-ink)}
.mk-form table.mk-lines tr{background:none}
.mk-form table.mk-lines th,.mk-form table.mk-lines td{text-align:left;
 padding:3px 12px 3px 0;border-bottom:1px solid var(--mk-line);
 font-weight:400;vertical-align:top;max-width:none;white-space:normal;
 overflow-wrap:anywhere}
.mk-form .mk-fields-help table.mk-lines{table-layout:fixed}
.mk-form .mk-fields-help td:nth-child(1){width:24%}
.mk-form .mk-fields-help td:nth-child(2){width:26%}
.mk-form table.mk-lines th{color:var(--mk-quiet)}
.mk-form table.mk-lines .mk-num{text-align:right;padding-right:0;white-space:nowrap}
.mk-error{border-left:3px solid var(--jp-error-color1);padding:6px 12px;
 background:var(--jp-layout-color1);white-space:pre-line;overflow-wrap:anywhere}
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
