"""What survives verbatim."""

from hypothesis import given
from hypothesis import strategies as st

from tests.compression.sizes import FourCharacters
from yagent.compression.compaction import Facts
from yagent.compression.facts import fit, listed
from yagent.compression.frame import Frame
from yagent.prompts.text import Prompts

FRAME = Frame(FourCharacters(), Prompts(), 1000, "c1")
MORE = "[more was here; read_artifact c1 has it]"
FACTS = Facts(
    goal="release 2.0",
    user_inputs=("do A", "never touch generated/", "change the plan: do NOT write code yet"),
    rules=("Use tabs.", "Run scripts/check before you finish."),
    open_items=("write the notes", "tag"),
    files_changed=("a.py", "b.py"),
    running=("coding#2: fix the tests",),
)


def test_what_fits_is_there_word_for_word() -> None:
    fitted = fit(FACTS, 1000, FRAME)
    assert fitted.rules == "Use tabs.\nRun scripts/check before you finish."
    assert fitted.goal == "release 2.0"
    assert fitted.earlier == "- do A\n- never touch generated/"
    assert fitted.newest == "change the plan: do NOT write code yet"
    assert fitted.open_items == "- write the notes\n- tag"
    assert fitted.files_changed == "- a.py\n- b.py"
    assert fitted.running == "- coding#2: fix the tests"


def test_what_is_not_there_is_none() -> None:
    fitted = fit(Facts(), 1000, FRAME)
    assert {fitted.rules, fitted.goal, fitted.earlier, fitted.newest, fitted.open_items, fitted.files_changed, fitted.running} == {"none"}


def test_where_something_is_left_out_a_line_says_so() -> None:
    files = tuple(f"src/module_{number:03d}.py" for number in range(400))
    pasted = "Look at this log:\n" + "x " * 4000 + "\nFix it, but leave the tests alone."
    fitted = fit(Facts(files_changed=files, open_items=files, user_inputs=(pasted,)), 600, FRAME)
    assert fitted.files_changed.splitlines()[-1] == MORE
    assert fitted.files_changed.splitlines()[-2] == "- src/module_399.py"
    assert fitted.open_items.splitlines()[0] == "- src/module_000.py"
    assert fitted.newest.startswith("Look at this log:\n")
    assert f"\n{MORE}\n" in fitted.newest
    assert fitted.newest.endswith("\nFix it, but leave the tests alone.")
    assert fitted.size <= 600


def test_of_a_long_page_of_rules_those_lines_stay_that_state_one() -> None:
    page = "\n".join(["About this project", *["It is nice." for _ in range(300)], "Never edit generated/.", "It is old."])
    fitted = fit(Facts(rules=(page,)), 300, FRAME)
    assert fitted.rules == f"Never edit generated/.\n{MORE}"


def test_of_a_long_page_without_a_rule_the_beginning_stays() -> None:
    fitted = fit(Facts(rules=("Tabs. " * 400,)), 300, FRAME)
    assert fitted.rules.startswith("Tabs. Tabs.")
    assert MORE in fitted.rules


def test_everything_can_be_paged_back() -> None:
    text = listed(FACTS)
    everything = (FACTS.goal, *FACTS.user_inputs, *FACTS.rules, *FACTS.open_items, *FACTS.files_changed, *FACTS.running)
    assert all(fact in text for fact in everything)


@given(
    inputs=st.lists(st.text(alphabet="ab never\n", max_size=300), max_size=6),
    rules=st.lists(st.text(alphabet="ab always\n", max_size=300), max_size=4),
    items=st.lists(st.text(alphabet="xyz", max_size=80), max_size=20),
    budget=st.integers(0, 600),
)
def test_the_facts_fit_their_budget(inputs: list[str], rules: list[str], items: list[str], budget: int) -> None:
    names = tuple(items)
    facts = Facts("the goal", tuple(inputs), tuple(rules), names, names, names)
    notices = 7 * FRAME.counter.count(MORE)  # each of the seven may have to say that something is missing
    assert fit(facts, budget, FRAME).size <= budget + notices
