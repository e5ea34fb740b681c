import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "Oracles"), str(HERE.parent / "Faults")]  # for the servers and the helpers

import pytest  # noqa: E402

import cluster as clusters  # noqa: E402
from fixtures import built  # noqa: E402, F401
from wire import Wire, socket_of  # noqa: E402


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The files of a new server, made once."""
    if clusters.WHY_NOT:
        pytest.skip(clusters.WHY_NOT)
    place = clusters.folder("template-")
    yield clusters.make_template(place)
    clusters.shutil.rmtree(place)


@pytest.fixture(scope="session")
def shared(template):
    """The server of the tests that need none of their own. Each test takes a name of a store for itself."""
    with clusters.Cluster(template, max_connections=600) as cluster:
        yield cluster


@pytest.fixture
def wire(shared):
    """The wire to the shared server."""
    with Wire(socket_of(shared)) as wire:
        yield wire


@pytest.fixture
def start_cluster(template):
    """Returns a function that starts a server with these settings, until the end of the test."""
    started = []

    def start(**settings):
        started.append(clusters.Cluster(template, **settings))
        return started[-1]

    yield start
    for cluster in reversed(started):
        cluster.close()
