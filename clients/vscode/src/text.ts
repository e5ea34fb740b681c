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

/** The commands of VS Code, by the method of a next step. */
const COMMANDS: Readonly<Record<string, string>> = {
  "access.reset": "einlass: Sign In", "access.set": "einlass: Sign In", "accounts.list": "einlass: Sign In",
  "accounts.signIn": "einlass: Sign In", "auth.perform": "einlass: Sign In", "providers.list": "einlass: Sign In",
  "providers.configure": "einlass: Set Up a Provider",
};

/** Returns the message of an error, the words of the provider and the next steps. */
export function advice(error: EinlassError): string {
  const words = error.data.serverError?.text;
  const steps = error.next.map(({ label, method, page, command }) => {
    const shown = COMMANDS[method ?? ""] ?? command;
    return `${label}${page ? `: ${page}` : ""}${shown ? ` (${shown})` : ""}.`;
  });
  return plain(sentences(error.message, words && `“${words}”`, ...steps));
}
