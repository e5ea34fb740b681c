import { EinlassError, OpenURLPrompt, Prompt } from "../../typescript/src/index";

/**
 * Returns a text of a provider as plain text. A control character becomes U+FFFD. A notification would make a command
 * of `[text](command:…)`, and a list an icon of `$(name)`.
 */
export function plain(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, "\ufffd").replace(/\]\(/g, "] (").replace(/\$\(/g, "$ (");
}

/** Returns the name of the application that asks. */
export function asker(prompt: Prompt): string {
  return plain(prompt.applicationTitle ?? prompt.application);
}

/** Returns the origin of a prompt: its provider, and the resource that the sign-in is for. */
export function origin(prompt: Prompt): string {
  const provider = plain(prompt.providerName ?? prompt.provider ?? "einlass");
  return prompt.resource === undefined ? provider : `${provider} for ${plain(prompt.resource)}`;
}

const READERS = { onlyMe: "for the person alone", friends: "for friends", everyone: "for everyone" };

type Rights = Pick<OpenURLPrompt, "permissions" | "audience">;

/** Returns the permissions and the audience in words, or "". */
export function rights({ permissions, audience }: Rights): string {
  return [...(permissions ?? []).map(plain), ...(audience ? [READERS[audience]] : [])].join(", ");
}

/** Says that a sign-in gives the application access, too. */
export function access(prompt: Prompt & Rights & { grantsAccess?: boolean }): string {
  if (!prompt.grantsAccess) return "";
  const more = rights(prompt);
  return `${asker(prompt)} may then use this account${more && ` (${more})`}.`;
}

export const PURPOSES = {
  keySlot: "opens the store", export: "protects the new file", import: "opens the file",
};

export const FAULTS: Readonly<Record<string, string>> = {
  selfSigned: "no authority has signed it", unknownAuthority: "its authority is unknown", expired: "it has expired",
  notYetValid: "it is not valid yet", otherHost: "it belongs to another host", untrusted: "it is not trusted",
};

/** Returns the sentences that are there. */
export function sentences(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(" ");
}

/** The methods that messages name and that have a command or a button here. */
const METHODS = ["access.set", "accounts.list", "accounts.signIn", "providers.configure", "providers.list"];

/** The next steps with the commands of VS Code, by the reason. The others are those of the protocol. */
const STEPS: Readonly<Record<string, string>> = {
  noSystemAccount: "Sign in at the provider (einlass: Sign In).",
  accessNotGranted: "Sign in and allow it (einlass: Sign In).",
  reloginNeeded: "Sign in to the account again (einlass: Sign In).",
  notIssuedToThisClient:
    "Sign in to the account from VS Code (einlass: Sign In). The credentials of other applications are kept.",
  authenticatorUnconfigured:
    "Register an application at the provider, then enter its client id and secret (einlass: Set Up a Provider).",
  interactionRequired: "Sign in and answer the questions (einlass: Sign In).",
  flowNotSupported: "Choose another provider (einlass: Sign In), or another way in the setting einlass.signInWith.",
  tokenNotSaved: "Repair the store, then sign in to the account again (einlass: Sign In).",
  unknownProvider: "Choose another provider (einlass: Sign In), or add this one (einlassctl providers add).",
  unknownAccount: "Choose another account (einlass: Sign In).",
  invalidCredential: "Sign in at the provider (einlass: Sign In), or get a new credential.",
};

/** Returns the message of an error, the words of the provider and the next step. */
export function advice(error: EinlassError): string {
  // The next step has the command in place of the method.
  const kept = error.message.split(/(?<=\.) /).filter((one) => !METHODS.some((method) => one.includes(method)));
  const words = error.data.serverError?.text;
  return plain(sentences(
    kept.join(" ") || error.message, words && `“${words}”`, STEPS[error.reason] ?? error.nextStep));
}
