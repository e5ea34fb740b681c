"""The Python client replays the conversations of protocol/transcripts; `transcripts.py` plays the server."""

import queue
import sys
from pathlib import Path

import pytest
import transcripts

from einlass import Client, EinlassError

PATIENCE = 20
SERVER = str(Path(transcripts.__file__))
FITTING = [path for path in sorted(transcripts.FOLDER.rglob("*.jsonl")) if transcripts.fits(transcripts.load(path))]


def test_most_transcripts_fit():
    assert len(FITTING) > 30


@pytest.mark.parametrize("path", FITTING, ids=lambda path: str(path.relative_to(transcripts.FOLDER)))
def test_the_client_keeps_to_the_transcript(path):
    steps = transcripts.load(path)
    answers, heard = queue.Queue(), queue.Queue()
    prompts = {"any": lambda prompt: answers.get(timeout=PATIENCE)}
    calls = {}
    with Client([sys.executable, SERVER, str(path)], prompts=prompts) as client:
        for method in {m["method"] for step in steps for m in transcripts.outs(step) if "method" in m}:
            client.on(method, lambda params, method=method: heard.put((method, params)))
        for step in steps:
            if message := transcripts.spoken(step.get("in")):
                send(client, message, calls, answers)
            for message in transcripts.outs(step):
                if "method" in message:
                    assert heard.get(timeout=PATIENCE) == (message["method"], message.get("params", {}))
                elif message["id"] in calls:
                    assert outcome(calls[message["id"]]) == expected(message)
    assert client.process.returncode == 0, list(client._log.last)


def send(client, message, calls, answers):
    params = message.get("params") or {}
    if message["method"] == "prompt.answer":
        members = {name: value for name, value in params.items() if name not in ("prompt", "action")}
        answers.put({"accept": members or True, "decline": False, "cancel": None}[params["action"]])
    elif message["method"] == "$/cancelRequest":
        calls[params["id"]].cancel()
    elif "id" in message:
        calls[message["id"]] = client.start(message["method"], params)
    else:
        client.notify(message["method"], params)


def outcome(call):
    try:
        return call.result(PATIENCE)
    except EinlassError as error:
        return error.code, error.reason, error.message, error.data


def expected(message):
    if "result" in message:
        return message["result"]
    error = message["error"]
    return error["code"], error["data"]["reason"], error["message"], error["data"]
