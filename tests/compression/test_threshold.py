"""From which size on a conversation is compressed."""

import pytest

from yagent.compression.threshold import CompressionSettings, Window, threshold_of


@pytest.mark.parametrize(
    ("window", "configured", "override", "expected"),
    [
        (Window(200_000), 0, "", 150_000),
        (Window(200_000), 100_000, "", 100_000),
        (Window(200_000), 190_000, "", 150_000),
        (Window(200_000), -1, "", 150_000),
        (Window(None), 0, "", 120_000),
        (Window(None), 50_000, "", 50_000),
        (Window(None), 500_000, "", 500_000),
        (Window(200_000), 100_000, "180000", 180_000),
        (Window(200_000), 0, " 3000 ", 3000),
        (Window(200_000), 0, "-5", 150_000),
        (Window(200_000), 0, "0", 150_000),
        (Window(200_000), 0, "many", 150_000),
        (Window(200_000), 0, "1e5", 150_000),
        (Window(200_000), 0, "٣٠", 150_000),
        (Window(None), 0, "9" * 400, 120_000),
        (Window(200_000, reserved=64_000), 0, "", 126_000),
        (Window(200_000, reserved=64_000), 0, "999999", 126_000),
        (Window(1_000, reserved=4_000), 0, "", 1),
    ],
)
def test_the_threshold_follows_the_window_the_settings_and_what_a_reply_needs(
    window: Window, configured: int, override: str, expected: int
) -> None:
    assert threshold_of(window, configured, override) == expected


@pytest.mark.parametrize(("given", "kept"), [(200, 200), (0, 200), (-3, 200), (50, 50)])
def test_a_senseless_number_of_kept_tokens_is_the_default(given: int, kept: int) -> None:
    assert CompressionSettings(tool_result_keep_tokens=given).kept_of_result == kept
