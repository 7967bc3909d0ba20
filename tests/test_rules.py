from mediakit.rules import (
    LimitedWhen,
    NeededWhen,
    OnlyWhen,
    Problem,
    given,
    unless,
    when,
)

ONLY = OnlyWhen(("creativity", "texture"), when("model", "wonder", "redefine"))
NEEDED = NeededWhen(("detail_strength",), when("detail", True))
LIMITED = LimitedWhen("ratio", lambda v: v == "adaptive", "adaptive", when("task", "e"))


def test_null_and_an_empty_list_are_nothing_while_zero_and_false_are_given() -> None:
    values: dict[str, object] = {"a": None, "b": [], "c": 0, "d": False, "e": ""}

    assert [name for name in "abcdef" if given(values, name)] == ["c", "d", "e"]


def test_a_field_that_does_not_apply_is_a_problem_and_is_disabled_with_the_reason() -> (
    None
):
    values = {"model": "cgi", "creativity": 3}

    assert ONLY.problems(values) == [
        Problem("creativity", 3, "a value only when model is wonder or redefine")
    ]
    reason = "applies only when model is wonder or redefine"
    assert ONLY.disables("texture", values) == reason
    assert ONLY.disables("texture", {"model": "wonder"}) is None
    assert ONLY.disables("model", values) is None
    assert not ONLY.requires("texture", values)


def test_a_field_becomes_required_under_its_condition() -> None:
    assert NEEDED.requires("detail_strength", {"detail": True})
    assert not NEEDED.requires("detail_strength", {"detail": False})
    assert NEEDED.problems({"detail": True, "detail_strength": 0}) == []
    [problem] = NEEDED.problems({"detail": True, "detail_strength": None})
    assert problem.sentence == (
        "detail_strength: missing; it is required when detail is true"
    )


def test_a_field_accepts_less_under_a_condition() -> None:
    assert LIMITED.problems({"task": "x", "ratio": "1:1"}) == []
    assert LIMITED.problems({"task": "e", "ratio": None}) == []
    [problem] = LIMITED.problems({"task": "e", "ratio": "1:1"})
    assert problem.accepted == "adaptive when task is e"


def test_an_inverted_condition_says_so() -> None:
    condition = unless("autoprompt", True)

    assert condition.text == "autoprompt is not true"
    assert condition.holds({})
    assert not condition.holds({"autoprompt": True})


def test_rules_read_as_sentences() -> None:
    assert ONLY.sentence == (
        "creativity and texture apply only when model is wonder or redefine"
    )
    assert NEEDED.sentence == "detail_strength is required when detail is true"
    assert LIMITED.sentence == "ratio accepts adaptive when task is e"


def test_the_root_of_a_problem_is_its_top_level_field() -> None:
    roots = [Problem(f, 1, "x").root for f in ("a", "a[0]", "a[0].b[1].c", "a.b")]

    assert roots == ["a", "a", "a", "a"]
