import { CancellationTokenSource, commands, Disposable, env, ProgressLocation, QuickPickItem, window } from "vscode";
import {
  Account, AnyAnswer, Prompt, PromptForm, PromptFormButtons, PromptHandlers, Signal,
} from "../../typescript/src/index";
import { plain, sentences } from "./text";

const LINK = "einlass.link";

/** The length of a text that a list shows whole above its rows. */
const LINE = 80;

type Choice<T> = QuickPickItem & { answer: T };

/** Returns an account as an entry of a list. */
export function entry(account: Account): Choice<{ account: string }> {
  return {
    label: plain(account.displayName ?? account.username), description: plain(account.username),
    detail: account.health === "ok" ? undefined : `needs attention: ${account.health}`,
    answer: { account: account.account },
  };
}

/** Returns a form above its answers: a title, and the other sentences. */
function heading(show: PromptForm): { title: string; text: string } {
  return { title: plain(show.title), text: sentences(show.warning && plain(show.warning), ...(show.text ?? []).map(plain)) };
}

/** Returns an answer without its action, which is `accept`. */
function members({ action, ...rest }: Record<string, unknown>): AnyAnswer {
  return action === "accept" ? rest : action === "decline" ? false : undefined;
}

/** The prompts of einlass as lists, input boxes and notifications. Each goes away when its prompt closes. */
export class Prompts implements Disposable {
  readonly handlers: PromptHandlers = { any: (prompt, closed) => this.draw(prompt, closed) };
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

  /** Draws a prompt of any kind by its form. */
  private draw(prompt: Prompt, closed: Signal): Promise<AnyAnswer> {
    const { page, code, choices, fields } = prompt.show;
    return page && code ? this.showCode(prompt, closed)
      : page ? this.openPage(prompt, page, closed)
      : fields?.length === 1 && fields[0].type === "text" && !choices ? this.askBeside(prompt, closed)
      : fields && !choices ? this.enter(prompt.show, closed) : this.choose(prompt, closed);
  }

  /** Shows the choices, and the buttons but for `cancel`, which is the Escape key. */
  private async choose(prompt: Prompt, closed: Signal): Promise<AnyAnswer> {
    const { show } = prompt;
    if (prompt.kind === "selectAccount" && prompt.more && prompt.provider) {
      return this.pick(closed, plain(show.title), "", (await this.accounts(prompt.provider)).map(entry));
    }
    const items: Choice<() => AnyAnswer | Promise<AnyAnswer>>[] = (show.choices ?? []).map(({ label, detail, answer }) => ({
      label: plain(label), description: detail && plain(detail), answer: () => members(answer) }));
    const row = ({ action, label }: PromptFormButtons) => ({ label: plain(label), answer: action === "accept"
      ? () => show.fields ? this.enter(show, closed) : true : action === "decline" ? () => false : () => undefined });
    // Enter chooses the first entry: the default, else a choice, else the button that cancels.
    const buttons = show.buttons.filter((one) => one.default || one.action !== "cancel" || !show.choices);
    const first = buttons.find((one) => one.default)
      ?? (show.choices ? undefined : buttons.find((one) => one.action === "cancel"));
    if (first) items.unshift(row(first));
    items.push(...buttons.filter((one) => one !== first).map(row));
    return (await this.pickBelow(show, closed, items))?.();
  }

  /** Shows a list. One that would cut the text above it ends with the paragraphs, one in a row. */
  private async pickBelow<T>(show: PromptForm, closed: Signal, items: Choice<T>[]): Promise<T | undefined> {
    const { title, text } = heading(show), again = Symbol();
    const paragraphs = text.length > LINE ? [...(show.warning ? [show.warning] : []), ...(show.text ?? [])] : [];
    const rows: Choice<T | symbol>[] = [...items, ...paragraphs.map((one) => ({ label: plain(one), answer: again }))];
    for (;;) {
      const answer = await this.pick(closed, title, text, rows);
      if (answer !== again) return answer as T | undefined;
    }
  }

  /** Asks for the fields, one after the other. */
  private async enter(show: PromptForm, closed: Signal): Promise<AnyAnswer> {
    const { title, text } = heading(show), entered: Record<string, unknown> = {};
    for (const { name, label, type, twice } of show.fields ?? []) {
      if (type === "flag") {
        entered[name] = await this.pick<boolean>(closed, title, plain(label), [
          { label: "No", answer: false }, { label: "Yes", answer: true }]);
      } else {
        const password = type !== "text";
        const prompt = sentences(`${plain(label)}.`, text);
        entered[name] = await this.input(closed, { title, password, prompt }) || undefined;
        if (twice && entered[name] !== undefined && !await this.input(closed, {
          title, password, prompt: "The same again.",
          validateInput: (again) => again === entered[name] ? undefined : "This is another one." })) return undefined;
      }
      if (entered[name] === undefined) return undefined;
    }
    return entered;
  }

  private async openPage(prompt: Prompt, page: { url: string; host: string }, closed: Signal): Promise<AnyAnswer> {
    const { title, text } = heading(prompt.show);
    const open = () => env.openExternal(page.url);
    const asked = this.verifierAsked(prompt.flows[0], closed);
    const work = await this.pickBelow<() => PromiseLike<unknown>>(prompt.show, closed, [
      { label: `Open ${plain(page.host)} in the browser`, answer: open },
      { label: "Copy the address", answer: () => env.clipboard.writeText(page.url) }]);
    if (!work) return undefined;
    await work();
    if (prompt.show.fields) return this.enter(prompt.show, closed);
    await asked;
    const paste = () => this.pastes.get(prompt.flows[0])?.();
    const mayPaste = this.pastes.has(prompt.flows[0]);
    return this.wait(closed, sentences(title, text), {
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

  private showCode(prompt: Prompt, closed: Signal): Promise<AnyAnswer> {
    const { title, text } = heading(prompt.show), { page, code } = prompt.show;
    const end = new Date(prompt.expiresAt * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const whole = "verificationUriComplete" in prompt && prompt.verificationUriComplete || page!.url;
    return this.wait(closed, sentences(title, `${plain(code!)} – ${plain(page!.url)} (until ${end}).`, text), {
      "Copy the code": () => env.clipboard.writeText(code!),
      [`Open ${plain(page!.host)}`]: () => env.openExternal(whole),
    });
  }

  /** Asks for a text at once. An address to paste has a link in the notification, because most people never need it. */
  private async askBeside(prompt: Prompt, closed: Signal): Promise<AnyAnswer> {
    const [flow] = prompt.flows;
    this.asked.add(flow);
    closed.addEventListener("abort", () => this.asked.delete(flow));
    this.waiting.get(flow)?.();
    this.waiting.delete(flow);
    const ask = () => this.enter(prompt.show, closed);
    if (prompt.kind !== "enterVerifier" || prompt.expects === "pin" || prompt.show.warning) return ask();
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
    // The label of the first link would begin at an open bracket of the text.
    const closedText = text.replace(/\[(?=[^\]]*$)/g, "(");
    const shown = Object.keys(links).map((label, index) => `[${label}](command:${LINK}?%5B%22${keys[index]}%22%5D)`);
    await window.withProgress(
      { location: ProgressLocation.Notification, title: `${closedText} ${shown.join(" · ")}`, cancellable: true },
      (_, token) => new Promise<void>((done) => {
        token.onCancellationRequested(() => done());
        closed.addEventListener("abort", done);
      }));
    keys.forEach((key) => this.links.delete(key));
  }
}
