// A VS Code of lines of JSON: it runs the extension in a folder, shows its dialogs as lines and reads the answers.
//
//   node host.js FOLDER-OF-THE-EXTENSION SETTINGS
"use strict";
const Module = require("node:module");
const path = require("node:path");
const readline = require("node:readline");

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");

class EventEmitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener) => {
      this.listeners.add(listener);
      return { dispose: () => this.listeners.delete(listener) };
    };
  }
  fire(event) { for (const listener of [...this.listeners]) listener(event); }
  dispose() { this.listeners.clear(); }
}

class CancellationTokenSource {
  constructor() {
    const emitter = (this.emitter = new EventEmitter());
    this.token = { isCancellationRequested: false, onCancellationRequested: emitter.event };
  }
  cancel() {
    if (this.token.isCancellationRequested) return;
    this.token.isCancellationRequested = true;
    this.emitter.fire();
  }
  dispose() { this.emitter.dispose(); }
}

class CancellationError extends Error {
  constructor() { super("Canceled"); this.name = "Canceled"; }
}

const dialogs = new Map(); // the open dialogs: functions that take the answer
const commands = new Map();
const providers = new Map();
const settings = JSON.parse(process.argv[3] ?? "{}");
const configuration = new EventEmitter();
let last = 0;
let quick; // the list or the input box, because VS Code shows one at a time

/** Shows a dialog. Resolves with its answer, or with undefined when the token ends it. */
function show(kind, what, token) {
  const id = ++last;
  return new Promise((resolve) => {
    const end = (answer, gone) => {
      if (!dialogs.delete(id)) return;
      if (quick === id) quick = undefined;
      if (gone) print({ gone: id, kind });
      resolve(answer);
    };
    if (token?.isCancellationRequested) return resolve(undefined);
    token?.onCancellationRequested(() => end(undefined, true));
    dialogs.set(id, end);
    if (kind === "list" || kind === "input") {
      dialogs.get(quick)?.(undefined, true);
      quick = id;
    }
    print({ dialog: id, kind, ...what });
  });
}

const message = (kind) => async (text, ...rest) => {
  const options = typeof rest[0] === "object" ? rest.shift() : {};
  return show(kind, { text, ...options, buttons: rest });
};

const vscode = {
  EventEmitter, CancellationTokenSource, CancellationError,
  ProgressLocation: { Notification: 15 }, UIKind: { Desktop: 1, Web: 2 },
  authentication: {
    async getSession(id, scopes, { createIfNone, account } = {}) {
      const provider = providers.get(id);
      const [first] = await provider.getSessions(scopes, { account });
      return first ?? (createIfNone ? provider.createSession(scopes, { account }) : undefined);
    },
    registerAuthenticationProvider(id, label, provider, options) {
      if (providers.has(id)) throw new Error(`${id} is registered`);
      providers.set(id, provider);
      print({ registered: id, label, options });
      const heard = provider.onDidChangeSessions((event) => print({ event: id, ...event }));
      return { dispose() { heard.dispose(); providers.delete(id); print({ unregistered: id }); } };
    },
  },
  window: {
    async showQuickPick(items, options, token) {
      const index = await show("list", { ...options, items: items.map(({ answer, ...item }) => item) }, token);
      return items[index];
    },
    async showInputBox({ validateInput, ...options }, token) {
      for (;;) {
        const text = await show("input", options, token);
        const fault = text !== undefined && validateInput?.(text);
        if (!fault) return text;
        print({ fault });
      }
    },
    showInformationMessage: message("information"),
    showWarningMessage: message("warning"),
    showErrorMessage: message("error"),
    async withProgress({ title, cancellable, location }, task) {
      const source = new CancellationTokenSource(), id = ++last;
      dialogs.set(id, () => source.cancel());
      print({ dialog: id, kind: "progress", title, cancellable, location });
      try {
        return await task({ report() {} }, source.token);
      } finally {
        dialogs.delete(id);
        print({ gone: id, kind: "progress" });
      }
    },
    createOutputChannel: () => ({ info: (line) => print({ log: line }), show() {}, dispose() {} }),
  },
  env: {
    appName: "Visual Studio Code", language: "de", remoteName: settings.remoteName, uiKind: 1,
    clipboard: { async writeText(text) { print({ copied: text }); } },
    async openExternal(target) { print({ opened: target }); return true; },
  },
  commands: {
    registerCommand(id, work) { commands.set(id, work); return { dispose: () => commands.delete(id) }; },
    async executeCommand(id, ...values) { print({ executed: id, values }); },
  },
  workspace: {
    getConfiguration: (section) => ({ get: (name) => settings[`${section}.${name}`] }),
    onDidChangeConfiguration: configuration.event,
  },
};

const load = Module._load;
Module._load = (request, ...rest) => (request === "vscode" ? vscode : load(request, ...rest));

async function answered(id, work) {
  try {
    print({ answer: id, result: (await work()) ?? null });
  } catch (error) {
    print({ answer: id, error: { name: error.name, message: error.message, reason: error.reason } });
  }
}

const folder = path.resolve(process.argv[2]);
const extension = require(path.join(folder, require(path.join(folder, "package.json")).main));
const context = { subscriptions: [] };

const input = readline.createInterface({ input: process.stdin });
input.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.dialog) dialogs.get(message.dialog)?.(message.answer ?? undefined);
  if (message.settings) {
    Object.assign(settings, message.settings);
    configuration.fire({ affectsConfiguration: (name) => name in message.settings });
  }
  if (message.command) void answered(message.id, () => commands.get(message.command)(...(message.values ?? [])));
  if (message.call === "getSession") {
    void answered(message.id, () => vscode.authentication.getSession(message.provider, ...message.values));
  } else if (message.example) {
    const work = new Function("vscode", `return (async () => { ${message.example}; return ${message.returns}; })()`);
    void answered(message.id, () => work(vscode));
  } else if (message.call) {
    const values = message.values.map((value) => value ?? undefined);
    void answered(message.id, () => providers.get(message.provider)[message.call](...values));
  }
});
input.on("close", async () => {
  context.subscriptions.forEach((one) => one.dispose());
  await extension.deactivate();
  process.exit(0);
});
void answered("activate", () => extension.activate(context));
