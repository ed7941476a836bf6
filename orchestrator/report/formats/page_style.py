"""How the HTML report looks: on wide and narrow screens, in light and in dark, and on paper."""

from fsl_sweep.orchestrator.report.figures.style import DARK, INK, LIGHT, RULES, SOFT


def _palette(colours: tuple[str, ...]) -> str:
    return ";".join(f"--c{number}:{colour}" for number, colour in enumerate(colours))


CSS = (
    f"\n:root{{--ink:{INK};--soft:{SOFT};--line:{RULES};"
    + """--page:#fff;--sheet:#f5f7f9;--best:#e4f3e9;
--alarm:#b3261e;--alarm-sheet:#fdeceb;--good:#1b6e3c;--link:#0b5cad;"""
    + _palette(LIGHT)
    + """}
@media (prefers-color-scheme:dark){
:root{--ink:#e4e8ec;--soft:#9aa5b0;--line:#39424c;--page:#14181c;--sheet:#1d2329;--best:#17382a;
--alarm:#ff9a91;--alarm-sheet:#3a1a18;--good:#7fd8a0;--link:#85bdf5;"""
    + _palette(DARK)
    + """}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);line-height:1.5;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:80rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.25rem 0 .75rem;padding-bottom:.25rem;
border-bottom:1px solid var(--line)}
p{max-width:60rem;margin:.6rem 0;overflow-wrap:anywhere}
ul{margin:.4rem 0;padding-left:1.25rem}
li{overflow-wrap:anywhere}
a{color:var(--link)}
header{padding:.9rem 1.1rem;border-radius:.5rem;border-left:.4rem solid var(--good);
background:var(--sheet)}
header.alarm{border-color:var(--alarm);background:var(--alarm-sheet)}
header.alarm h1,p.alarm{color:var(--alarm)}
header p{margin:.2rem 0}
p.good{color:var(--good)}
p.alarm{font-weight:600}
p.note,figcaption{color:var(--soft);font-size:.875rem}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:1rem 0;font-size:.9rem}
.wide{overflow-x:auto;margin:.75rem 0;border:1px solid var(--line);border-radius:.5rem}
table{border-collapse:collapse;width:100%;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .65rem;text-align:left;vertical-align:top;white-space:nowrap}
thead th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--line)}
th.n,td.n{text-align:right}
td.long{white-space:normal;overflow-wrap:anywhere;min-width:15em}
td.long:last-child{min-width:28em}
tbody tr+tr td{border-top:1px solid var(--line)}
tr.group th{background:var(--sheet);border-bottom:1px solid var(--line);
white-space:normal;overflow-wrap:anywhere}
tbody+tbody tr.group th{border-top:1px solid var(--line)}
tr.group span{position:sticky;left:.65rem}
tr.best td{background:var(--best);font-weight:600}
tr.reference td{color:var(--soft)}
figure{margin:.75rem 0 1.5rem}
figcaption{max-width:60rem;margin:.5rem 0}
.panels{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr))}
.panels>div{background:var(--sheet);border-radius:.5rem;padding:.5rem;min-width:0}
.panels p{margin:0;font-size:.8rem;font-weight:600;overflow-wrap:anywhere}
.panels svg{width:100%;height:auto;display:block}
.panels text{fill:var(--ink);font-family:inherit!important}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.875rem;margin:.5rem 0}
.legend span{overflow-wrap:anywhere}
.legend b{font-family:ui-monospace,monospace}
@media (max-width:30rem){main{padding:.6rem}th,td{padding:.25rem .45rem}}
@media print{nav{display:none}.wide{overflow:visible;border:0}figure,tr{break-inside:avoid}}
"""
)
