from fixtures import built, dot, idpy, start  # noqa: F401
