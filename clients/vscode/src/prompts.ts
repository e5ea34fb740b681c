import { CancellationTokenSource, commands, Disposable, env, ProgressLocation, QuickPickItem, window } from "vscode";
import {
  Account, Answer, DeviceCodePrompt, EnterPassphrasePrompt, EnterPasswordPrompt, EnterVerifierPrompt,
  GrantAccessPrompt, OpenURLPrompt, PromptHandlers, ReplaceAccountPrompt, SelectAccountPrompt, Signal,
  TrustCertificatePrompt,
} from "../../typescript/src/index";
import { access, asker, FAULTS, origin, plain, PURPOSES, rights, sentences } from "./text";

const LINK = "einlass.link";

type Choice<T> = QuickPickItem & { answer: T };

/** Returns an account as an entry of a list. */
export function entry(account: Account): Choice<{ account: string }> {
  return {
    label: plain(account.displayName ?? account.username), description: plain(account.username),
    detail: account.health === "ok" ? undefined : `needs attention: ${account.health}`,
    answer: { account: account.account },
  };
}

/** The prompts of einlass as lists, input boxes and notifications. Each goes away when its prompt closes. */
export class Prompts implements Disposable {
  readonly handlers: PromptHandlers = {
    grantAccess: (prompt, closed) => this.grantAccess(prompt, closed),
    selectAccount: (prompt, closed) => this.selectAccount(prompt, closed),
    confirmAccount: (prompt, closed) =>
      this.pick(closed, `Continue at ${origin(prompt)}?`, "", [{ ...entry(prompt.accounts[0]), answer: true }]),
    replaceAccount: (prompt, closed) => this.replaceAccount(prompt, closed),
    openURL: (prompt, closed) => this.openURL(prompt, closed),
    deviceCode: (prompt, closed) => this.deviceCode(prompt, closed),
    enterVerifier: (prompt, closed) => this.enterVerifier(prompt, closed),
    enterPassphrase: (prompt, closed) => this.enterPassphrase(prompt, closed),
    enterPassword: (prompt, closed) => this.enterPassword(prompt, closed),
    trustCertificate: (prompt, closed) => this.trustCertificate(prompt, closed),
  };
  private readonly registration = commands.registerCommand(LINK, (key) => this.links.get(key)?.());
  private readonly links = new Map<string, () => unknown>();
  /** The functions that ask for the last address of the browser, by flow. */
  private readonly pastes = new Map<string, () => unknown>();
  /** The flows with a question for a verifier, and the functions to call when one comes. */
  private readonly asked = new Set<string>();
  private readonly waiting = new Map<string, () => void>();
  private lastLink = 0;
  private turn: Promise<unknown> = Promise.resolve();

  /** @param accounts returns all accounts of a provider */
  constructor(private readonly accounts: (provider: string) => Promise<Account[]>) {}

  dispose(): void {
    this.registration.dispose();
  }

  private grantAccess(prompt: GrantAccessPrompt, closed: Signal): Promise<Answer<"grantAccess">> {
    const added = prompt.added.length > 0 && prompt.added.length < prompt.permissions.length;
    const text = sentences(
      rights(prompt) && `Wanted: ${rights(prompt)}.`, added && `New: ${prompt.added.map(plain).join(", ")}.`,
      prompt.includes?.includes("refreshToken") && "This gives lasting access.");
    return this.pick<boolean>(closed, `${asker(prompt)} wants to use your ${origin(prompt)} accounts`, text, [
      { label: "Allow", answer: true }, { label: "Don't allow", detail: "This is remembered.", answer: false }]);
  }

  private async selectAccount(prompt: SelectAccountPrompt, closed: Signal): Promise<Answer<"selectAccount">> {
    const accounts = prompt.more && prompt.provider ? await this.accounts(prompt.provider) : prompt.accounts;
    return this.pick(closed, `Account of ${origin(prompt)} for ${asker(prompt)}`, "", accounts.map(entry));
  }

  private replaceAccount(prompt: ReplaceAccountPrompt, closed: Signal): Promise<Answer<"replaceAccount">> {
    const fresh: Choice<{ account?: string }> = { label: "A new account", answer: {} };
    return this.pick(closed, `You signed in at ${origin(prompt)}`, "Is this a new account, or one of these?",
      [...prompt.accounts.map(entry), fresh]);
  }

  private async openURL(prompt: OpenURLPrompt, closed: Signal): Promise<Answer<"openURL">> {
    const open = () => env.openExternal(prompt.url);
    const host = plain(prompt.host);
    const title = `${asker(prompt)}: sign in at ${origin(prompt)}`;
    const asked = this.verifierAsked(prompt.flows[0], closed);
    const work = await this.pick<() => PromiseLike<unknown>>(closed, title, access(prompt), [
      { label: `Open ${host} in the browser`, answer: open },
      { label: "Copy the address", answer: () => env.clipboard.writeText(prompt.url) }]);
    if (!work) return undefined;
    await work();
    await asked;
    const paste = () => this.pastes.get(prompt.flows[0])?.();
    const text = sentences(`${origin(prompt)}: sign in at ${host} in your browser.`, access(prompt));
    const mayPaste = this.pastes.has(prompt.flows[0]);
    return this.wait(closed, text, {
      "Open again": open, ...(mayPaste ? { "Paste the address of a page that did not load": paste } : {}) });
  }

  /** Resolves with the flow's question for a verifier. einlass asks both questions at once, in any order. */
  private verifierAsked(flow: string, closed: Signal): Promise<void> {
    if (this.asked.has(flow)) return Promise.resolve();
    return new Promise((done) => {
      this.waiting.set(flow, done);
      closed.addEventListener("abort", () => {
        this.waiting.delete(flow);
        done();
      });
      setTimeout(done, 2000);
    });
  }

  private deviceCode(prompt: DeviceCodePrompt, closed: Signal): Promise<Answer<"deviceCode">> {
    const end = new Date(prompt.expiresAt * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const text = sentences(
      `${origin(prompt)}: enter the code ${plain(prompt.userCode)} at ${plain(prompt.verificationUri)} until ${end}.`,
      access(prompt), `Enter only a code that you see in your own ${asker(prompt)}.`);
    const page = prompt.verificationUriComplete ?? prompt.verificationUri;
    return this.wait(closed, text, {
      "Copy the code": () => env.clipboard.writeText(prompt.userCode),
      [`Open ${plain(prompt.host)}`]: () => env.openExternal(page),
    });
  }

  private async enterVerifier(prompt: EnterVerifierPrompt, closed: Signal): Promise<Answer<"enterVerifier">> {
    const [flow] = prompt.flows;
    this.asked.add(flow);
    closed.addEventListener("abort", () => this.asked.delete(flow));
    this.waiting.get(flow)?.();
    this.waiting.delete(flow);
    const pin = prompt.expects === "pin";
    const wish = pin ? "Enter the number from the page." : "If the page does not load, paste its address here.";
    const ask = async () => {
      const text = await this.input(closed, {
        title: `${asker(prompt)}: sign in at ${origin(prompt)}`,
        prompt: sentences(prompt.again && "This does not fit.", wish, access(prompt)),
      });
      return text ? { text } : undefined;
    };
    if (pin || prompt.again) return ask();
    // The notification of `openURL` has the link, because most people never need it.
    return new Promise((resolve) => {
      this.pastes.set(flow, async () => {
        const answer = await ask();
        if (answer) resolve(answer);
      });
      closed.addEventListener("abort", () => {
        this.pastes.delete(flow);
        resolve(undefined);
      });
    });
  }

  private async enterPassphrase(prompt: EnterPassphrasePrompt, closed: Signal): Promise<Answer<"enterPassphrase">> {
    const purpose = PURPOSES[prompt.purpose];
    const title = `${asker(prompt)}: the passphrase that ${purpose}${prompt.path ? ` ${plain(prompt.path)}` : ""}`;
    const passphrase = await this.input(closed, {
      title, password: true, prompt: prompt.again ? "This passphrase does not fit." : undefined });
    if (!passphrase) return undefined;
    const repeated = !prompt.new || await this.input(closed, {
      title, password: true, prompt: "The same again.",
      validateInput: (text) => text === passphrase ? undefined : "This is another passphrase." });
    return repeated ? { passphrase } : undefined;
  }

  private async enterPassword(prompt: EnterPasswordPrompt, closed: Signal): Promise<Answer<"enterPassword">> {
    const title = `${asker(prompt)}: log in at ${plain(prompt.server)}`;
    const warning = sentences(prompt.again && "The server refused that user name or password.",
      prompt.secure === false && "Others on the way can read the password.", access(prompt));
    const username = prompt.username ?? await this.input(closed, { title, prompt: sentences("User name.", warning) });
    if (!username) return undefined;
    const password = await this.input(closed, {
      title, password: true, prompt: sentences(`Password of ${plain(username)}.`, warning) });
    if (!password) return undefined;
    const remember = prompt.mayRemember && await this.pick<boolean>(closed, title, "Remember the password?", [
      { label: "Don't remember the password", answer: false }, { label: "Remember the password", answer: true }]);
    if (prompt.mayRemember && remember === undefined) return undefined;
    return { password, ...(prompt.username ? {} : { username }), ...(remember ? { remember } : {}) };
  }

  private trustCertificate(prompt: TrustCertificatePrompt, closed: Signal): Promise<Answer<"trustCertificate">> {
    const fault = prompt.fault ? FAULTS[prompt.fault] ?? FAULTS.untrusted : "its key is new";
    const former = prompt.formerPublicKey;
    return this.pick<true | undefined>(closed, `${asker(prompt)}: the certificate of ${plain(prompt.server)}`,
      sentences(`Do not trust it unless the key is that of your server: ${fault}.`,
        former !== undefined && `The server has another key than before: ${plain(former)}.`), [
        { label: "Don't trust it", answer: undefined },
        { label: "Trust this key", detail: plain(prompt.publicKey), answer: true }]);
  }

  /** Shows a list. Returns `undefined` if the person closes it, or the prompt closes. */
  pick<T>(
    closed: Signal | undefined, title: string, placeHolder: string, items: Choice<T>[],
  ): Promise<T | undefined> {
    return this.inTurn(closed, async (token) =>
      (await window.showQuickPick(items, { title, placeHolder, ignoreFocusOut: true }, token))?.answer);
  }

  input(closed: Signal | undefined, options: Parameters<typeof window.showInputBox>[0]): Promise<string | undefined> {
    return this.inTurn(closed, (token) => window.showInputBox({ ...options, ignoreFocusOut: true }, token));
  }

  /** VS Code shows one list or input box at a time, and a second one would close the first. */
  private inTurn<T>(
    closed: Signal | undefined, show: (token: CancellationTokenSource["token"]) => PromiseLike<T | undefined>,
  ): Promise<T | undefined> {
    const shown = this.turn.then(async () => {
      if (closed?.aborted) return undefined;
      const source = new CancellationTokenSource();
      const cancel = () => source.cancel();
      closed?.addEventListener("abort", cancel);
      try {
        return await show(source.token);
      } finally {
        closed?.removeEventListener("abort", cancel);
        source.dispose();
      }
    });
    this.turn = shown.catch(() => undefined);
    return shown;
  }

  /** Shows a notification with links until the prompt closes, or the person cancels. A button would close it. */
  private async wait(closed: Signal, text: string, links: Record<string, () => unknown>): Promise<undefined> {
    if (closed.aborted) return;
    const keys = Object.values(links).map((work) => {
      const key = String(++this.lastLink);
      this.links.set(key, work);
      return key;
    });
    const shown = Object.keys(links).map((label, index) => `[${label}](command:${LINK}?%5B%22${keys[index]}%22%5D)`);
    await window.withProgress(
      { location: ProgressLocation.Notification, title: `${text} ${shown.join(" · ")}`, cancellable: true },
      (_, token) => new Promise<void>((done) => {
        token.onCancellationRequested(() => done());
        closed.addEventListener("abort", done);
      }));
    keys.forEach((key) => this.links.delete(key));
  }
}
