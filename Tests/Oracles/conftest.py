import pytest


@pytest.fixture
def start(tmp_path):
    """Starts front ends, which end with the test, and cleanly."""
    from front_end import FrontEnd
    started = []

    def start(*arguments, **more):
        started.append(FrontEnd(tmp_path, *arguments, **more))
        return started[-1]

    yield start
    for front_end in started:
        front_end.close()
