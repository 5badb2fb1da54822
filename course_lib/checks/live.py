"""The live views: the only module here that needs ipywidgets, loaded when one of them is shown."""

from __future__ import annotations

import weakref

import ipywidgets as widgets

from course_lib.checks import record
from course_lib.checks.cards import prose_html, styled
from course_lib.checks.exercises import AnyQuestion, Question
from course_lib.checks.predictions import answer
from course_lib.checks.table import Progress

_tables: weakref.WeakKeyDictionary[widgets.HTML, Progress] = weakref.WeakKeyDictionary()


def prediction_widget(question: AnyQuestion) -> widgets.VBox:
    """The question, its choices with none chosen, "Show", and room for the answer."""
    if isinstance(question, Question):
        field = widgets.RadioButtons(
            options=list(question.choices), index=None, layout={"width": "auto"}
        )
    else:
        field = widgets.Text(placeholder=f"a number of {question.unit}".removesuffix(" of "))
    field.tooltip = question.text
    show = widgets.Button(description="Show", disabled=True)
    # A fixed height, so that the page doesn't jump when the sentence comes.
    feedback = widgets.HTML(layout={"min_height": "5em"})
    text = widgets.HTML(styled(prose_html("Predict first: " + question.text)))

    def chosen(change: dict) -> None:
        show.disabled = change["new"] in (None, "")

    answered = []

    def shown(button: widgets.Button) -> None:
        # Pressed again, the same choice is no second try. The button stays enabled: a disabled one
        # would lose the keyboard's focus.
        if field.value in answered[-1:]:
            return
        answered.append(field.value)
        feedback.value = f'<div role="status">{answer(question, field.value).html()}</div>'

    field.observe(chosen, "value")
    show.on_click(shown)
    return widgets.VBox([text, field, show, feedback])


def progress_widget(table: Progress) -> widgets.HTML:
    """The table, following each check, hint and prediction in this kernel."""
    widget = widgets.HTML(table.html())
    _tables[widget] = table
    record.on_change(_follow)
    return widget


def _follow() -> None:
    for widget, table in list(_tables.items()):
        widget.value = table.html()
