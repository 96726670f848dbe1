"""The colours of figures and notebooks, after Okabe and Ito; the report in light mode has the same (`colours.css`)."""

LINES = ("#c97400", "#0067a8", "#00805e", "#b04a82", "#6f7780", "#3f9fd8", "#8a7a00", "#a3341c")
CAUSES = {
    "host": "#7a828b",
    "evict": "#56a8dc",
    "gc": "#cf5a00",
    "refresh": "#c4709f",
    "wear_levelling": "#00936d",
    "destage": "#d9c622",
    "metadata": "#b9bdc2",
}
