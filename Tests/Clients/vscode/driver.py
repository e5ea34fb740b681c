"""Drives the extension in `host.js`: a person, and other extensions."""
import json
import queue
import re
import threading
import urllib.request
from pathlib import Path

PATIENCE = 60  # seconds; turns a hang into a failure
#: The links of a notification, as VS Code finds them (src/vs/base/common/linkedText.ts).
LINKS = re.compile(r"""\[([^\]]+)\]\(((?:https?://|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)""", re.IGNORECASE)


class Host:
    def __init__(self, house, folder, **settings):
        self.process = house.start("node", str(Path(__file__).with_name("host.js")), str(folder), json.dumps(
            {f"einlass.{name}" if name != "remoteName" else name: value for name, value in settings.items()}))
        self.arrived, self.lines, self.ids = queue.Queue(), [], 0
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.arrived.put(json.loads(line))
        self.arrived.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()  # it has ended, unless the test fails
            self.reader.join()
            errors = self.process.stderr.read()
            self.process.stdout.close()
            self.process.stderr.close()
        assert (self.process.returncode, errors) == (0, "")

    def expect(self, *names, **members):
        """Waits for the first line with members of these names, and with these members, and takes it away."""
        passed = 0
        while True:
            for number, line in enumerate(self.lines[passed:], passed):
                if line.keys() >= set(names) and all(line.get(name) == value for name, value in members.items()):
                    return self.lines.pop(number)
            passed = len(self.lines)
            try:
                line = self.arrived.get(timeout=PATIENCE)
            except queue.Empty:
                line = None
            assert line is not None, f"nothing with {names} {members}, but {self.lines}"
            self.lines.append(line)

    def send(self, **message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def start(self, **message):
        self.ids += 1
        self.send(id=self.ids, **message)
        return self.ids

    def call(self, method, *values, provider="einlass-github"):
        """Calls the provider, or getSession as an extension does. Returns the number of the call."""
        return self.start(call=method, provider=provider, values=values)

    def answer(self, call):
        line = self.expect(answer=call)
        assert "error" not in line, line
        return line["result"]

    def failure(self, call):
        return self.expect(answer=call)["error"]

    def sessions(self, *values, **more):
        return self.answer(self.call("getSessions", *values, **more))

    def choose(self, label, **dialog):
        """Waits for a list, and chooses the entry with this label. Returns the dialog."""
        shown = self.expect(kind="list", **dialog)
        labels = [item["label"] for item in shown["items"]]
        assert label in labels, labels
        self.send(dialog=shown["dialog"], answer=labels.index(label))
        return shown

    def type(self, text, **dialog):
        shown = self.expect(kind="input", **dialog)
        self.send(dialog=shown["dialog"], answer=text)
        return shown

    def press(self, button, kind):
        shown = self.expect(kind=kind)
        assert button in [*shown["buttons"], None], shown
        self.send(dialog=shown["dialog"], answer=button)
        return shown

    def links(self, notification):
        """Returns the commands of the links by their labels."""
        return {label: target for label, target, *_ in LINKS.findall(notification["title"])}

    def follow(self, target):
        name, _, values = target.removeprefix("command:").partition("?")
        return self.start(command=name, values=json.loads(urllib.request.unquote(values)))

    def on_page(self, choose="Open 127.0.0.1 in the browser"):
        """Opens the page of a sign-in in the browser of the house. Returns the list and the notification."""
        shown = self.choose(choose)
        notification = self.expect(kind="progress")
        urllib.request.urlopen(self.expect("opened")["opened"]).close()
        return shown, notification
