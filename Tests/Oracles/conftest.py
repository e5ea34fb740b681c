from fixtures import built, config, dot, idpy, ready, start  # noqa: F401
