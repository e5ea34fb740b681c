import { ErrorData, nextSteps } from "./protocol";

/** A request that helps. `Client.follow` sends it. */
export type Hint = NonNullable<ErrorData["hint"]>;

/** An error response. Programs switch on `reason`, people read `message` and `nextStep`. */
export class EinlassError extends Error {
  /** The members of `errors.json` and of the protocol's error data; a later einlass may add reasons. */
  readonly data: Partial<Omit<ErrorData, "reason">> & { readonly reason: string };

  constructor(readonly code: number, message: string, data: { readonly reason?: unknown }) {
    super(message);
    this.name = "EinlassError";
    this.data = { ...data, reason: typeof data.reason === "string" ? data.reason : "unknown" };
  }

  /** The stable name of the error. */
  get reason(): string {
    return this.data.reason;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.data.retryable === true;
  }

  /** The request that helps, if there is one. */
  get hint(): Hint | undefined {
    return this.data.hint;
  }

  /** The next step for the person, or "" for an unknown reason. */
  get nextStep(): string {
    const names: Record<string, string | undefined> = { PROVIDER: this.data.provider, ACCOUNT: this.data.account };
    // Other names stay out, because the person may copy the command of the step into a shell.
    return (nextSteps[this.reason] ?? "").replace(/PROVIDER|ACCOUNT/g, (word) => {
      const name = names[word];
      return name && /^[\w.-]+$/.test(name) ? name : word;
    });
  }
}

/** einlass ended, or was closed, before it answered. */
export class ServerGone extends EinlassError {
  /**
   * @param exitCode the exit code, or 128 and the number of the signal; `undefined` if einlass did not start
   * @param log the last lines of its standard error
   */
  constructor(readonly exitCode: number | undefined, readonly log: readonly string[], message?: string) {
    super(0, message ?? `einlass ended before it answered (exit code ${exitCode ?? "unknown"}).`,
      { reason: "serverGone", ...{ retryable: true } });
    this.name = "ServerGone";
  }

  override get nextStep(): string {
    return "See the last lines of its log, because einlass ended before it answered.";
  }
}
