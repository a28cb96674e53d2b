"""The sixty tasks in three grades. Prompts and checks are tuned on one half; the other half is only ever measured."""

from tests.eval.task import Task
from tests.eval.tasks.first import FIRST
from tests.eval.tasks.second import SECOND
from tests.eval.tasks.third import THIRD

TASKS: tuple[Task, ...] = (*FIRST, *SECOND, *THIRD)
GRADES = {task.name: grade for grade, tasks in enumerate((FIRST, SECOND, THIRD), 1) for task in tasks}
INJECTION = frozenset(task.name for task in TASKS if task.injection)
HELD_OUT = frozenset(task.name for tasks in (FIRST, SECOND, THIRD) for task in tasks[1::2])
