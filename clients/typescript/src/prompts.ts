import { Prompt } from "./protocol";

export type PromptKind = Prompt["kind"];
export type PromptOf<K extends PromptKind> = Extract<Prompt, { kind: K }>;

/** The members of `accept`, by the kind of prompt. The other kinds have none. */
export interface Accepted {
  selectAccount: { account: string };
  /** Without `account`, the account is a new one. */
  replaceAccount: { account?: string };
  openURL: { redirectURL?: string };
  enterVerifier: { text: string };
  enterPassphrase: { passphrase: string };
  enterPassword: { username?: string; password: string; remember?: boolean };
}

type AcceptedOf<K extends PromptKind> = K extends keyof Accepted ? Accepted[K] : {};

/** The answer: the members of `accept`, or `true` if the kind needs none; `false` declines; `undefined` cancels. */
export type Answer<K extends PromptKind> = AcceptedOf<K> | ({} extends AcceptedOf<K> ? boolean : false) | undefined;

/** The answer to a prompt of any kind, with the same words for `true`, `false` and `undefined`. */
export type AnyAnswer = Record<string, unknown> | boolean | undefined;

/** The AbortSignal of the program's own types, of node or of a browser, if it has some. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer T } } ? T : PlainSignal;

export interface PlainSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A function for each kind of prompt that the program can show. `closed` aborts when the prompt has closed, and the
 * dialog then goes away. The answer of a closed prompt is ignored.
 */
export type PromptHandlers = {
  [K in PromptKind]?: (prompt: PromptOf<K>, closed: Signal) => Answer<K> | Promise<Answer<K>>;
} & {
  /** Draws `show` of any kind without a function of its own, also of a later einlass. */
  any?: (prompt: Prompt, closed: Signal) => AnyAnswer | Promise<AnyAnswer>;
};
