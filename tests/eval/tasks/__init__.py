"""The sixty tasks in three grades, and two other sets: injections, and tasks that need a lesson.

Prompts and checks are tuned on one half of the sixty; the other half is only ever measured.
"""

from tests.eval.task import Task
from tests.eval.tasks.first import FIRST
from tests.eval.tasks.injected import INJECTED
from tests.eval.tasks.lessons import LESSONS
from tests.eval.tasks.second import SECOND
from tests.eval.tasks.third import THIRD

TASKS: tuple[Task, ...] = (*FIRST, *SECOND, *THIRD)
SETS: dict[str, tuple[Task, ...]] = {"grades": TASKS, "injections": INJECTED, "lessons": LESSONS}
GRADES = {task.name: grade for grade, tasks in enumerate((FIRST, SECOND, THIRD), 1) for task in tasks}
INJECTION = frozenset(task.name for tasks in SETS.values() for task in tasks if task.injection)
HELD_OUT = frozenset(task.name for tasks in (FIRST, SECOND, THIRD) for task in tasks[1::2])
