"""The sixty tasks in three grades, thirty fresh ones, and two other sets: injections, and tasks that need a lesson.

Prompts and checks are tuned on one half of the sixty; the other half and the fresh tasks are only ever measured.
"""

from tests.eval.task import Task
from tests.eval.tasks.first import FIRST
from tests.eval.tasks.fresh import FRESH, FRESH_FIRST, FRESH_SECOND, FRESH_THIRD
from tests.eval.tasks.injected import INJECTED
from tests.eval.tasks.lessons import LESSONS
from tests.eval.tasks.second import SECOND
from tests.eval.tasks.third import THIRD

TASKS: tuple[Task, ...] = (*FIRST, *SECOND, *THIRD)
SETS: dict[str, tuple[Task, ...]] = {"grades": TASKS, "fresh": FRESH, "injections": INJECTED, "lessons": LESSONS}
BY_GRADE = ((*FIRST, *FRESH_FIRST), (*SECOND, *FRESH_SECOND), (*THIRD, *FRESH_THIRD))
GRADES = {task.name: grade for grade, tasks in enumerate(BY_GRADE, 1) for task in tasks}
INJECTION = frozenset(task.name for tasks in SETS.values() for task in tasks if task.injection)
TUNING = frozenset(task.name for tasks in (FIRST, SECOND, THIRD) for task in tasks[::2])
HELD_OUT = frozenset(task.name for tasks in (FIRST, SECOND, THIRD) for task in tasks[1::2])
