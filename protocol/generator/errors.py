"""`errors.json`: the code, the summary and the next steps of each error are those of the document, the rest is kept."""
import json


def text(document, kept):
    """Returns the text of the file. `kept` is the one before."""
    former = {entry["reason"]: entry for entry in kept["errors"]}
    entries = [entry(reason, error, former.get(reason, {"retryable": False}))
               for reason, error in document["components"]["errors"].items()]
    lines = ",\n".join("    " + json.dumps(entry, ensure_ascii=False) for entry in entries)
    return f'{{\n  "about": {json.dumps(kept["about"], ensure_ascii=False)},\n  "errors": [\n{lines}\n  ]\n}}\n'


def entry(reason, error, former):
    # The message of an error of JSON-RPC has less detail than its summary, and a summary may mark code.
    summary = former.get("summary", error["message"])
    if error["code"] > 0 and summary.replace("`", "") != error["message"]:
        summary = error["message"]
    found = {"code": error["code"], "reason": reason, "summary": summary,
             **{name: value for name, value in former.items() if name not in ("code", "reason", "summary", "next", "final")}}
    return {**found, **{name: value for name, value in error["data"].items() if name in ("next", "final")}}
