"""How the HTML report looks: on wide and narrow screens, in light and in dark, and on paper.

All of it is under one class, so that a report within another page, such as a notebook, leaves that
page as it is.
"""

from fsl_sweep.orchestrator.report.figures.style import DARK, INK, LIGHT, RULES, SOFT

_COLOURS = {
    "ink": (INK, "#e4e8ec"),
    "soft": (SOFT, "#9aa5b0"),
    "line": (RULES, "#39424c"),
    "page": ("#fff", "#14181c"),
    "sheet": ("#f5f7f9", "#1d2329"),
    "shade": ("#0003", "#fff4"),
    "alarm": ("#b3261e", "#ff9a91"),
    "alarm-sheet": ("#fdeceb", "#3a1a18"),
    "good": ("#1b6e3c", "#7fd8a0"),
    **{f"c{number}": both for number, both in enumerate(zip(LIGHT, DARK, strict=True))},
}
"""Each colour in light and in dark."""

_VARIABLES = "".join(f"--{n}:light-dark({a},{b});" for n, (a, b) in _COLOURS.items())

# .wide: a shade on the right where more is to be scrolled to; what covers it moves with the table.
CSS = (
    "\n.fsl-sweep{"
    + _VARIABLES
    + """
background:var(--page);color:var(--ink);font-size:16px;line-height:1.5;text-align:left;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
-webkit-text-size-adjust:100%;
&,*{box-sizing:border-box}
main{max-width:80rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:0;display:inline;overflow-wrap:anywhere}
h3{font-size:1rem;margin:.6rem 0 0}
p{max-width:60rem;margin:.6rem 0;overflow-wrap:anywhere}
ul{max-width:60rem;margin:.4rem 0;padding-left:1.25rem}
li{overflow-wrap:anywhere}
header{padding:.6rem 1rem;border-radius:.5rem;border-left:.4rem solid var(--good);
background:var(--sheet)}
header.alarm{border-color:var(--alarm);background:var(--alarm-sheet)}
header.alarm h1,p.alarm{color:var(--alarm)}
header p{margin:.1rem 0}
p.good{color:var(--good)}
p.alarm{font-weight:600}
p.note,figcaption{color:var(--soft);font-size:.875rem}
footer{margin-top:2rem;color:var(--soft);font-size:.875rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;max-width:60rem;margin:.5rem 0}
dt{font-weight:600;color:var(--ink)}
dd{margin:0;overflow-wrap:anywhere}
.answer{display:flex;flex-wrap:wrap;gap:0 2rem;align-items:start;margin:.75rem 0 1.25rem;
>*{flex:1 1 24rem;min-width:0}
>div:first-child{font-size:1.1rem;line-height:1.45}
>div:first-child>p:first-child{font-weight:600}
>figure{margin:.5rem 0}}
details{border-top:1px solid var(--line)}
details:last-of-type{border-bottom:1px solid var(--line)}
summary{padding:.5rem .25rem;cursor:pointer}
summary:hover{background:var(--sheet)}
summary::marker{color:var(--soft)}
.inside{padding:0 .25rem 1.5rem;scroll-margin-top:3rem}
header details{border:0!important}
.wide{width:fit-content;max-width:100%;overflow-x:auto;margin:.75rem 0;
border:1px solid var(--line);border-radius:.5rem;
background:linear-gradient(to left,var(--page) 1rem,transparent) right/2.5rem 100% no-repeat local,
linear-gradient(to left,var(--shade),transparent) right/1rem 100% no-repeat}
pre.wide{padding:.5rem .65rem;font-size:.85rem}
table{border-collapse:separate;border-spacing:0;margin:0;border:0;color:inherit;font-size:.85rem;
font-variant-numeric:tabular-nums}
tr,th,td{border:0;background:none}
th,td{padding:.3rem .65rem;text-align:left;vertical-align:top;white-space:nowrap}
thead th{color:var(--soft);font-weight:600;vertical-align:bottom;white-space:normal;
border-bottom:1px solid var(--line)}
th.n,td.n{text-align:right}
td:first-child,thead th:first-child{position:sticky;left:0;background:var(--page)}
td.long{white-space:normal;overflow-wrap:anywhere;min-width:15em}
td.long:last-child{min-width:28em}
tbody tr+tr td{border-top:1px solid var(--line)}
tr.group th{padding-top:.75rem;white-space:normal;overflow-wrap:anywhere}
tbody+tbody tr.group th{border-top:1px solid var(--line)}
tr.group span{position:sticky;left:.65rem}
tr.reference td{color:var(--soft)}
figure{margin:.75rem 0 1.5rem}
figcaption{max-width:60rem;margin:.5rem 0}
.panels{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr))}
.panels>div:only-child{grid-column:1/-1;max-width:32rem}
.panels>div{background:var(--sheet);border-radius:.5rem;padding:.5rem;min-width:0}
.panels p{margin:0;font-size:.8rem;font-weight:600}
.panels svg{width:100%;height:auto;display:block}
.panels text{fill:var(--ink);font-family:inherit!important}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.875rem;margin:.5rem 0}
.legend span{overflow-wrap:anywhere}
.legend b{font-family:ui-monospace,monospace}
@media (max-width:30rem){main{padding:.6rem}th,td{padding:.25rem .45rem}
td.long:first-child{min-width:9em}
dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
.answer>div:first-child{font-size:1rem}}
@media print{color-scheme:light;details::details-content{content-visibility:visible}
summary{list-style:none}.wide{overflow:visible;border:0}
th,td{white-space:normal;padding:.2rem .3rem}figure,tr,dt{break-inside:avoid}
h2,summary,dt{break-after:avoid}}
}
body.fsl-sweep{margin:0}
"""
)
