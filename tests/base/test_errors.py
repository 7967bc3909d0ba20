import inspect
import pickle

import pytest

from mediakit import errors
from mediakit.errors import (
    AuthError,
    BalanceError,
    BudgetError,
    ConflictError,
    GoneError,
    InputError,
    JobFailedError,
    JobName,
    MediakitError,
    NotFoundError,
    RateLimitError,
    ServiceError,
    SignatureError,
    WaitInterrupted,
    WaitTimeoutError,
)
from mediakit.rules import Problem


def test_every_error_is_in_the_tree_and_named_in_its_drawing() -> None:
    drawn = errors.__doc__ or ""
    classes = [
        value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and name.endswith("Error") and name != "AnswerError"
    ]

    assert len(classes) == 14
    for error_type in classes:
        assert issubclass(error_type, MediakitError)
        assert error_type.__name__ in drawn


def test_an_input_error_names_field_value_and_range_and_that_nothing_was_sent() -> None:
    error = InputError("duration", got=99, accepted="4 to 15 s", spec="4.9")

    assert str(error) == ("duration must be 4 to 15 s (got 99). Nothing was sent.")
    assert (error.field, error.got, error.spec) == ("duration", 99, "4.9")


def test_an_input_error_lists_all_problems() -> None:
    problems = [
        Problem("prompt", None, "text", required=""),
        Problem("audio", 1, "off"),
    ]
    error = InputError.of(problems)

    assert error.field == "prompt"
    assert error.problems == tuple(problems)
    assert "prompt is required (text)." in str(error)
    assert "audio must be off (got 1)." in str(error)


def test_an_untrusted_value_is_shortened_in_the_message() -> None:
    error = InputError("prompt", got="x" * 5_000, accepted="less")

    assert len(str(error)) < 250
    assert "5,002 characters" in str(error)


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (MediakitError("no"), False),
        (InputError("duration", got=99, accepted="4 to 15 s"), False),
        (InputError("duration", got=99, accepted="4 to 15 s", sent=True), True),
        *(
            (error_type("no", status=status, in_doubt=in_doubt), sent)
            for error_type in (
                AuthError,
                NotFoundError,
                ConflictError,
                GoneError,
                RateLimitError,
                BalanceError,
                ServiceError,
            )
            for status, in_doubt, sent in (
                (None, False, False),
                (None, True, None),
                (500, False, True),
                (500, True, None),
            )
        ),
        (BudgetError("no", needed_micro_usd=2, available_micro_usd=1), False),
        (JobFailedError("no", job=JobName("media_1"), code="failed"), True),
        (WaitTimeoutError("no", job=JobName("media_1"), waited_s=1), True),
        (SignatureError("no", reason="signature"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_tells_a_program_whether_the_request_was_sent(
    error: MediakitError, sent: object
) -> None:
    assert error.sent is sent
    assert pickle.loads(pickle.dumps(error)).sent is sent


def test_a_notebook_shows_the_message_instead_of_a_traceback() -> None:
    error = InputError("duration", got=99, accepted="4 to 15 s")

    assert error._render_traceback_() == [f"InputError: {error}"]
    stopped = WaitInterrupted("stopped waiting; the job continues")
    assert stopped._render_traceback_() == [f"KeyboardInterrupt: {stopped}"]
