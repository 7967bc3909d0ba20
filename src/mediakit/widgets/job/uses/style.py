"""How the list of results and the menu of uses look, in the theme's colours."""

PICK_CSS = """
.mk-form .mk-pick{gap:6px;width:auto;margin-left:calc(var(--mk-label) + 10px);
 padding:8px;border:1px solid var(--jp-border-color2);border-radius:4px}
.mk-form .mk-pick-search>.widget-label{position:absolute;width:1px;height:1px;
 min-height:0;padding:0;overflow:hidden;clip-path:inset(50%)}
.mk-form .mk-pick-list{gap:2px;max-height:330px;overflow-y:auto}
.mk-form .mk-pick-list:empty{display:none}
.mk-form .mk-pick-row{position:relative;display:flex;flex-flow:row nowrap;gap:10px;
 align-items:center;padding:4px;border-radius:3px;flex:0 0 auto}
.mk-form .mk-pick-row:hover,.mk-form .mk-pick-row:focus-within{
 background:var(--jp-layout-color2)}
.mk-form .mk-pick-poster{flex:0 0 72px;width:72px;height:44px}
.mk-pick-poster span,.mk-pick-poster img{display:block;width:72px;height:44px;
 border-radius:3px;object-fit:cover;background:var(--jp-layout-color3)}
.mk-form .mk-pick-words{position:static;flex:1 1 0;min-width:0}
.mk-form .mk-pick-choose{position:static;background:none;padding:0;text-align:left;
 width:100%;height:auto;line-height:1.4;font-size:13px;overflow:hidden;
 text-overflow:ellipsis;white-space:nowrap;box-shadow:none;
 color:var(--jp-ui-font-color1)}
.mk-form .mk-pick-choose::after{content:"";position:absolute;inset:0;z-index:1}
.mk-form .mk-pick-facts{font-size:12px}
.mk-form .mk-pick-style{display:none}
"""

USE_CSS = """
.mk-job .mk-use{gap:8px}
.mk-job .mk-use>.mk-use-row{display:flex;flex-flow:row wrap;gap:6px}
.mk-job .mk-use>.mk-form{border-left:3px solid var(--jp-brand-color1);
 padding-left:14px;box-sizing:border-box}
.mk-job .mk-use-style{display:none}
"""
