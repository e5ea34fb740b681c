import { EinlassError } from "../../typescript/src/index";

/**
 * Returns a text of a provider as plain text. A control character becomes U+FFFD. A notification would make a command
 * of `[text](command:…)`, and a list an icon of `$(name)`.
 */
export function plain(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, "\ufffd").replace(/\]\(/g, "] (").replace(/\$\(/g, "$ (");
}

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
