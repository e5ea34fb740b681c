import { ErrorData, NextStep } from "./protocol";

/** A next step that is a request. `Client.follow` sends it. */
export type NextRequest = NextStep & { readonly method: string };

/** An error response. Programs switch on `reason`, people read `message` and the labels of `next`. */
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

  /** The next steps, the most useful one first. */
  get next(): readonly NextStep[] {
    return this.data.next ?? [];
  }

  /** The first next step that is a request, if there is one. */
  get nextRequest(): NextRequest | undefined {
    return this.next.find((step): step is NextRequest => step.method !== undefined);
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

  override get next(): readonly NextStep[] {
    return [{ label: "See the last lines of its log, because einlass ended before it answered" }];
  }
}
