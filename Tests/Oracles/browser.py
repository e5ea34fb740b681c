"""Two browsers: `Chromium`, a real one without a window, and `Visitor`, a small HTTP client that fills in forms, for
tests without the need of a real browser."""
import html.parser
import http.cookiejar
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

PROGRAMS = ("chromium", "chromedriver")
WHY_NOT = next((f"skipped: there is no {name}" for name in PROGRAMS if not shutil.which(name)), None)


class Chromium:
    """Chromium under chromedriver. WebDriver is JSON over HTTP, so no library is needed."""

    def __init__(self):
        # Chromium's lock is a Unix socket, and the path of a socket must be short.
        self.folder = tempfile.mkdtemp(prefix="einlass-", dir="/tmp")
        self.driver, port = self.start()
        self.base = "http://127.0.0.1:" + port
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--no-first-run", "--disable-background-networking", "--user-data-dir=" + self.folder,
                            "--window-size=900,600"]}
        self.session = None
        answer = self.ask("POST", "/session", capabilities={"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "timeouts": {"pageLoad": 60000, "implicit": 30000}}})
        self.session = "/session/" + answer["sessionId"]

    def start(self):
        """Returns the driver and its port. chromedriver takes a free IPv4 port, and exits if that port is taken for
        IPv6."""
        for _ in range(10):
            driver = subprocess.Popen(
                ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "HOME": self.folder, "TMPDIR": self.folder}, start_new_session=True)
            # "ChromeDriver was started successfully on port 40123."
            for line in driver.stdout:
                if "successfully on port" in line:
                    return driver, line.split("port")[1].strip(" .\n")
            driver.wait(60)
            driver.stdout.close()
        raise AssertionError("chromedriver does not start")

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        if self.session:
            self.ask("DELETE", "")
        # Chromium's helper processes belong to the driver's process group.
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait(60)
        self.driver.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, /, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + (self.session or "") + path, data,
                                         {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as failure:
            with failure:
                raise AssertionError(failure.read().decode()) from None

    def element(self, selector):
        value = self.ask("POST", "/element", using="css selector", value=selector)
        return "/element/" + next(iter(value.values()))

    def open(self, url):
        self.ask("POST", "/url", url=url)

    def press(self, selector):
        self.ask("POST", self.element(selector) + "/click")

    def type(self, selector, text):
        self.ask("POST", self.element(selector) + "/value", text=text)

    def text(self, selector="body"):
        return self.ask("GET", self.element(selector) + "/text")

    @property
    def url(self):
        return self.ask("GET", "/url")

    def has(self, selector):
        return self.ask("POST", "/execute/sync", script="return !!document.querySelector(arguments[0])",
                        args=[selector])

    def color(self, scheme):
        """Returns the text colour of the page for a person with a preference for light or dark."""
        self.ask("POST", "/goog/cdp/execute", cmd="Emulation.setEmulatedMedia",
                 params={"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        return self.ask("POST", "/execute/sync", script="return getComputedStyle(document.body).color", args=[])

    def screenshot(self):
        """Returns the page as PNG in base64."""
        return self.ask("GET", "/screenshot")


class Forms(html.parser.HTMLParser):
    """The fields and buttons of the only form of a page."""

    def __init__(self, text):
        super().__init__()
        self.fields, self.buttons, self.select = {}, {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        name, value = given.get("name"), given.get("value") or ""
        if tag == "button" or given.get("type") == "submit":
            self.buttons[given.get("id") or value] = (name, value)
        elif tag == "input" and name:
            self.fields[name] = value
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select:
            self.fields.setdefault(self.select, value)


class Visitor:
    """Keeps cookies, presses buttons and follows redirects within a site. A redirect to another site is stored in
    `location` and not followed, so that a test can inspect the request for a program of this machine."""

    def __init__(self):
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies, Stay, urllib.request.ProxyHandler({}))
        self.url, self.page, self.status, self.location = None, "", None, None

    def open(self, url, form=None):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        try:
            answer = self.opener.open(urllib.request.Request(url, data, {"Referer": self.url or url}), timeout=60)
        except urllib.error.HTTPError as failure:
            answer = failure
        with answer:
            self.url, self.page, self.status = url, answer.read().decode(), answer.status
            location = answer.headers.get("Location")
        if location is None:
            return self
        self.location = urllib.parse.urljoin(url, location)
        is_inside = urllib.parse.urlsplit(self.location)[:2] == urllib.parse.urlsplit(url)[:2]
        return self.open(self.location) if is_inside else self

    def press(self, button, **fields):
        """Submits the form by the button of this id or text, with these fields changed."""
        forms = Forms(self.page)
        name, value = forms.buttons[button]
        return self.open(self.url, {**forms.fields, **fields, **({name: value} if name else {})})


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None
