import { ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { constants } from "node:os";
import { EinlassError, NextRequest, ServerGone } from "./errors";
import { findEinlass } from "./find";
import { AnyAnswer, PromptHandlers, PromptKind, Signal } from "./prompts";
import { InitializeParams, InitializeResult, Notifications, Prompt, Requests } from "./protocol";

export interface ClientOptions {
  /** The functions for the prompts. The kinds without a function are cancelled. */
  prompts?: PromptHandlers;
  /** The program and its options; `findEinlass()` when missing. */
  command?: readonly string[];
  /** Hears the lines of the log of einlass, and problems of prompts and listeners. */
  log?: (line: string) => void;
}

export interface RequestOptions {
  /** Cancels the request. It is still answered: by the error `cancelled`, unless it had just finished. */
  signal?: Signal;
}

/** The arguments after the method: the parameters may be left out if none of them is required. */
type Rest<P> = {} extends P ? [params?: P, options?: RequestOptions] : [params: P, options?: RequestOptions];
type Lists = { [M in keyof Requests]: "cursor" extends keyof Requests[M]["params"] ? M : never }[keyof Requests];
type Listener<M extends keyof Notifications> = (params: Notifications[M]) => void;

interface Call {
  resolve(result: unknown): void;
  reject(error: EinlassError): void;
}

/** One einlass, spawned by the constructor, and the pipe to it. `initialize` comes first. */
export class Client {
  /** Settles when einlass has ended. */
  readonly ended: Promise<ServerGone>;
  private readonly prompts: PromptHandlers;
  private readonly log: (line: string) => void;
  private readonly program: string;
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly calls = new Map<number, Call>();
  private readonly listeners = new Map<string, Set<(params: unknown) => void>>();
  private readonly open = new Map<string, AbortController>();
  private readonly lastLog: string[] = [];
  private readonly exited: Promise<number | undefined>;
  private lastId = 0;
  private gone?: ServerGone;

  /** Throws if there is no einlass. */
  constructor(options: ClientOptions = {}) {
    this.prompts = options.prompts ?? {};
    // A log that fails, at once or later, does not end the program.
    this.log = (line) => void (async () => options.log?.(line))().catch(() => undefined);
    const [program, ...rest] = options.command ?? [findEinlass()];
    this.program = program;
    // A session of its own, so that Ctrl-C in a terminal reaches only this program, which then closes einlass.
    const child = (this.child = spawn(program, rest, { detached: true, stdio: "pipe" }));
    child.stdin.on("error", () => undefined); // the end of einlass is reported by `ended`
    let fault: string | undefined;
    this.exited = new Promise((resolve) => {
      child.on("exit", (code, signal) => resolve(signal ? 128 + constants.signals[signal] : code ?? undefined));
      child.on("error", (error) => {
        fault = `${program} cannot be started: ${error.message}`;
        resolve(undefined);
      });
    });
    const logRead = lines(child.stderr, (line) => this.logged(line), 65536).then((rest) => rest && this.logged(rest));
    const read = lines(child.stdout, (line) => this.received(line));
    // The end of the output and the exit follow each other soon. No longer than that, because einlass may still be
    // saving a token, and a process that it has started may hold its output.
    let exited = false;
    void this.exited.then(() => (exited = true));
    this.ended = Promise.race([read, this.exited])
      .then(() => Promise.race([Promise.all([read, logRead, this.exited]), pause(500).then(() => pause(1))]))
      .then(() => {
        if (!exited) return undefined;
        [child.stdout, child.stderr].forEach((output) => output.destroy());
        return this.exited;
      })
      .then((code) => this.end(new ServerGone(code, this.lastLog, fault)));
  }

  /**
   * Sends `initialize`. People grant access to the application `name`. Declares the prompts that have a function.
   * Rejects with the reason `notStarted` after `patience` milliseconds, because the program may be another one.
   */
  initialize(
    name: string, more: Partial<InitializeParams> & { title?: string } = {}, patience = 10_000,
  ): Promise<InitializeResult> {
    const { title, ...members } = more;
    const answer = this.request("initialize", {
      protocolVersion: 1, processId: process.pid,
      client: title === undefined ? { name } : { name, title }, ...members,
      capabilities: { prompts: Object.keys(this.prompts).sort() as PromptKind[], ...members.capabilities },
    });
    const late = pause(patience).then(() => {
      const message = `${this.program} did not answer within ${patience / 1000} s, so it may be another program.`;
      throw new EinlassError(0, message, { reason: "notStarted" });
    });
    return Promise.race([answer, late]);
  }

  /** Sends a request. The promise rejects with an EinlassError. */
  request<M extends keyof Requests>(method: M, ...rest: Rest<Requests[M]["params"]>): Promise<Requests[M]["result"]> {
    const [params, options] = rest;
    return this.send(method, params ?? {}, options?.signal) as Promise<Requests[M]["result"]>;
  }

  /** Returns the entries of all pages: `list("accounts.list", "accounts", { provider: "github" })`. */
  async list<M extends Lists, K extends keyof Requests[M]["result"]>(
    method: M, member: K, params: Requests[M]["params"] = {},
  ): Promise<Requests[M]["result"][K]> {
    const found: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = (await this.send(method, { ...params, cursor })) as { nextCursor?: string } & Record<K, unknown[]>;
      found.push(...page[member]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found as Requests[M]["result"][K];
  }

  /** Sends the request of a next step, with further parameters, such as the client id for `providers.configure`. */
  follow(step: NextRequest, more: object = {}, options: RequestOptions = {}): Promise<unknown> {
    return this.send(step.method, { ...step.params, ...more }, options.signal);
  }

  /** Calls `listener` with the params of each notification of this method. Returns a function that ends that. */
  on<M extends keyof Notifications>(method: M, listener: Listener<M>): () => void {
    const all = this.listeners.get(method) ?? new Set();
    this.listeners.set(method, all.add(listener as (params: unknown) => void));
    return () => this.off(method, listener);
  }

  off<M extends keyof Notifications>(method: M, listener: Listener<M>): void {
    this.listeners.get(method)?.delete(listener as (params: unknown) => void);
  }

  /** Ends einlass: closes its input, reads its output to the end, and insists by signals. Returns its exit code. */
  async close(graceMilliseconds = 2000): Promise<number | undefined> {
    this.child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const end = this.ended.then(() => this.exited).then(() => true);
      if (await Promise.race([end, pause(graceMilliseconds)])) break;
      this.child.kill(signal);
    }
    await this.ended;
    return this.exited;
  }

  private send(method: string, params: object, signal?: Signal): Promise<unknown> {
    if (this.gone) return Promise.reject(this.gone);
    if (signal?.aborted) {
      return Promise.reject(new EinlassError(-32800, "The request was cancelled.", { reason: "cancelled" }));
    }
    const id = ++this.lastId;
    const cancel = () => this.write({ method: "$/cancelRequest", params: { id } });
    signal?.addEventListener("abort", cancel);
    const answer = new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
    this.write({ id, method, params });
    return answer.finally(() => signal?.removeEventListener("abort", cancel));
  }

  private write(message: object): void {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  private received(line: string): void {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.log(`einlass: ${line.length} characters are not JSON`);
    }
    if (typeof message?.method === "string") return this.notified(message.method, message.params ?? {});
    const call = this.calls.get(message?.id);
    this.calls.delete(message?.id);
    if (!call) return this.log("einlass: an answer without a request");
    const { error } = message;
    error ? call.reject(new EinlassError(error.code, error.message, error.data ?? {})) : call.resolve(message.result);
  }

  private notified(method: string, params: unknown): void {
    const prompt = params as Prompt;
    if (method === "prompt.opened") this.open.set(prompt.prompt, new AbortController());
    for (const listener of [...(this.listeners.get(method) ?? [])]) {
      try {
        listener(params);
      } catch (error) {
        this.log(`einlass: a listener of ${method} failed: ${error}`);
      }
    }
    if (method === "prompt.opened") void this.ask(prompt);
    if (method === "prompt.closed") this.closed(prompt.prompt);
  }

  /** Each prompt is asked at once, because `openURL` and `enterVerifier` are open together. */
  private async ask(prompt: Prompt): Promise<void> {
    const handler = (this.prompts[prompt.kind] ?? this.prompts.any) as PromptHandlers["any"];
    const closed = this.open.get(prompt.prompt)!.signal;
    let answer: AnyAnswer;
    try {
      answer = await handler?.(prompt, closed);
    } catch (error) {
      this.log(`einlass: the function for ${prompt.kind} failed: ${error}`);
    }
    if (closed.aborted) return;
    const action = answer === undefined ? "cancel" : answer === false ? "decline" : "accept";
    const members = typeof answer === "object" ? answer : {};
    try {
      await this.request("prompt.answer", { ...members, prompt: prompt.prompt, action });
    } catch (error) {
      const { reason } = error as EinlassError;
      if (reason !== "unknownPrompt" && reason !== "promptAlreadyAnswered") this.log(`einlass: prompt: ${error}`);
      if (reason !== "invalidChoice" && reason !== "invalidParams") return;
      await this.request("prompt.answer", { prompt: prompt.prompt, action: "cancel" }).catch(() => undefined);
    }
  }

  private closed(prompt: string): void {
    this.open.get(prompt)?.abort();
    this.open.delete(prompt);
  }

  private end(gone: ServerGone): ServerGone {
    this.gone = gone;
    for (const call of this.calls.values()) call.reject(gone);
    this.calls.clear();
    [...this.open.keys()].forEach((prompt) => this.closed(prompt));
    return gone;
  }

  private logged(line: string): void {
    this.lastLog.push(line);
    this.lastLog.splice(0, this.lastLog.length - 20);
    this.log(line);
  }
}

/**
 * Reads to the end, and returns the rest without LF. LF alone ends a line, because U+2028 is ordinary text. A rest
 * above `longest` is a line too.
 */
function lines(
  output: ChildProcessWithoutNullStreams["stdout"], heard: (line: string) => void, longest = Infinity,
): Promise<string> {
  let rest = "";
  output.setEncoding("utf8");
  output.on("data", (text: string) => {
    rest += text;
    if (!text.includes("\n") && rest.length <= longest) return;
    const whole = rest.split("\n");
    rest = whole.pop()!;
    if (rest.length > longest) {
      whole.push(rest);
      rest = "";
    }
    whole.forEach(heard);
  });
  return new Promise((resolve) => output.on("close", () => resolve(rest)));
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), milliseconds).unref());
}
