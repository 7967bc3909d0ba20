"""The place of a form's results, which is there before the first of them is."""

PLACE_CSS = """
.mk-form{container-type:inline-size}
.mk-form .mk-results:empty::before{content:"Your results appear here.";display:flex;
 align-items:center;justify-content:center;min-height:240px;border-radius:4px;
 border:1px dashed var(--jp-border-color1);color:var(--jp-ui-font-color2);
 font-size:12px}
@container (max-width:884px){.mk-form .mk-results:empty{display:none}}
"""
