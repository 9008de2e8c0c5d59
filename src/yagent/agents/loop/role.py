"""What a role is: data. The Director is one of them."""

from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of agent.

    `name` is also its profile and the stem of its prompt file. `nudges` is how often a plain-text reply is answered with `nudge` instead of
    being taken as the result (E-25). `wants_context`: the project's documents come with its first message. `demands_thought`: its prompt
    asks for a thought block before tool calls. `is_delegated`: it works for another agent, so at its time limit it gets one last step to
    hand over; the Director, who works for the user, does not.
    """

    name: str
    max_steps: int
    nudges: int = 0
    nudge: str = "no_action"  # stem of a file under prompts/reminders
    wants_context: bool = True
    demands_thought: bool = False
    is_delegated: bool = True
