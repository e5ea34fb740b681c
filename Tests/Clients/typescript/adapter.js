// The adapter of the TypeScript client for protocol/conformance: it does one task of the kit.
//
//   tsc -p clients/typescript
//   python3 protocol/conformance client node Tests/Clients/typescript/adapter.js
"use strict";
const { Client, ServerGone } = require("../../../clients/typescript");

/** Values that are waited for, by name, in either order. */
class Waiting {
  constructor() { this.values = new Map(); this.takers = new Map(); }
  list(map, name) { if (!map.has(name)) map.set(name, []); return map.get(name); }
  put(name, value) {
    const taker = this.list(this.takers, name).shift();
    taker ? taker(value) : this.list(this.values, name).push(value);
  }
  take(name) {
    const values = this.list(this.values, name);
    if (values.length) return Promise.resolve(values.shift());
    return new Promise((taken) => this.list(this.takers, name).push(taken));
  }
}

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");

async function outcome(answer) {
  try {
    return { result: await answer };
  } catch (error) {
    if (error instanceof ServerGone) return { ended: error.exitCode };
    return { error: { code: error.code, message: error.message, data: error.data } };
  }
}

async function main(task) {
  const answers = new Waiting(), heard = new Waiting(), calls = new Map();
  const ask = (prompt, closed) => Promise.race([
    answers.take(prompt.prompt), new Promise((gone) => closed.addEventListener("abort", () => gone(undefined)))]);
  const { client: { name }, capabilities } = task.initialize;
  const client = new Client({ prompts: Object.fromEntries(capabilities.prompts.map((kind) => [kind, ask])) });
  for (const method of new Set(task.steps.map((step) => step.hear).filter(Boolean))) {
    client.on(method, (params) => heard.put(method, params));
  }
  const introduced = await outcome(client.initialize(name, task.initialize));
  if (!introduced.result) {
    print(introduced);
    return client.close();
  }
  for (const step of task.steps) {
    if (step.request) {
      const abort = new AbortController();
      const answer = outcome(client.request(step.method, step.params, { signal: abort.signal }));
      calls.set(step.request, { answer, abort });
    } else if (step.await) {
      print(await calls.get(step.await).answer);
    } else if (step.hear) {
      print({ method: step.hear, params: await heard.take(step.hear) });
    } else if (step.answer) {
      const { action, ...members } = step.with;
      answers.put(step.answer, { accept: members, decline: false, cancel: undefined }[action]);
    } else if (step.cancel) {
      calls.get(step.cancel).abort.abort();
    }
  }
  await client.close();
}

let input = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  input += text;
  if (input.includes("\n")) {
    process.stdin.destroy();
    main(JSON.parse(input));
  }
});
