import { authentication, CancellationError, commands, Disposable, ExtensionContext, window, workspace } from "vscode";
import { Client, EinlassError, Provider } from "../../typescript/src/index";
import { Einlass } from "./einlass";
import { EinlassProvider } from "./provider";
import { advice, plain } from "./text";

/** Each provider of einlass with a registration is an authentication provider of VS Code, as `einlass-github`. */
class Extension implements Disposable {
  private readonly log = window.createOutputChannel("einlass", { log: true });
  private readonly einlass = new Einlass(this.log, (client) => this.listen(client));
  private readonly registered = new Map<string, { provider: EinlassProvider; registration: Disposable }>();
  private turn: Promise<unknown> = Promise.resolve();

  async dispose(): Promise<void> {
    this.registered.forEach(({ registration }) => registration.dispose());
    this.registered.clear();
    this.einlass.prompts.dispose();
    await this.einlass.close();
    this.log.dispose();
  }

  /** Registers the configured providers, and ends the registration of the others. */
  sync(): Promise<void> {
    const done = this.turn.then(async () => {
      const configured = (await this.einlass.providers(await this.einlass.client())).filter((one) => one.configured);
      const ids = new Set(configured.map(({ id }) => id));
      for (const [id, { registration }] of this.registered) {
        if (ids.has(id)) continue;
        registration.dispose();
        this.registered.delete(id);
      }
      for (const one of configured) if (!this.registered.has(one.id)) await this.register(one);
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** Shows a problem that no request of an extension waits for. */
  async shown(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (error instanceof CancellationError) return;
      const [settings, message] = ["Open Settings", error instanceof Error ? error.message : String(error)];
      const text = error instanceof EinlassError ? advice(error) : plain(message);
      const chosen = await window.showErrorMessage(text, settings);
      if (chosen === settings) await commands.executeCommand("workbench.action.openSettings", "einlass.path");
    }
  }

  async restart(): Promise<void> {
    await this.einlass.close();
    await this.sync();
  }

  /** The command “einlass: Sign In”. */
  async signIn(): Promise<void> {
    const provider = await this.chooseProvider("Sign in");
    if (!provider) return;
    const client = await this.einlass.client();
    if (!provider.configured && !(await this.einlass.configure(client, provider.id))) return;
    await this.sync();
    await this.registered.get(provider.id)?.provider.createSession([]);
  }

  /** The command “einlass: Set Up a Provider”. */
  async configure(): Promise<void> {
    const provider = await this.chooseProvider("Set up a provider");
    if (provider) await this.einlass.configure(await this.einlass.client(), provider.id);
  }

  private async chooseProvider(title: string): Promise<Provider | undefined> {
    const all = await this.einlass.providers(await this.einlass.client());
    const items = all.map((one) => ({
      label: plain(one.name), answer: one,
      description: one.configured ? undefined : "needs a registration of yours",
    }));
    items.sort((one, other) => Number(other.answer.configured) - Number(one.answer.configured));
    return this.einlass.prompts.pick(undefined, title, "", items);
  }

  private async register(one: Provider): Promise<void> {
    const provider = new EinlassProvider(this.einlass, one);
    await provider.refresh(true);
    const label = `${plain(one.name)} (einlass)`;
    const registration = authentication.registerAuthenticationProvider(
      `einlass-${one.id}`, label, provider, { supportsMultipleAccounts: true });
    this.registered.set(one.id, { provider, registration });
  }

  /** Passes on the changes by all processes on this machine. */
  private listen(client: Client): void {
    const logged = (work: Promise<void>) => void work.catch((error) => this.log.info(String(error)));
    const refresh = () => this.registered.forEach(({ provider }) => logged(provider.refresh()));
    client.on("accounts.changed", refresh);
    client.on("access.changed", refresh);
    client.on("credentials.refreshed", ({ account }) =>
      this.registered.forEach(({ provider }) => logged(provider.refreshed(account))));
    client.on("providers.changed", () => logged(this.sync()));
    if (this.registered.size === 0) return;
    // This einlass is not the first one, and the changes since the end of the former were not heard.
    refresh();
    logged(this.sync());
  }
}

let extension: Extension | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  const made = (extension = new Extension());
  context.subscriptions.push(
    commands.registerCommand("einlass.signIn", () => made.shown(made.signIn())),
    commands.registerCommand("einlass.configure", () => made.shown(made.configure())),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("einlass.path")) void made.shown(made.restart());
    }));
  const synced = made.sync();
  void made.shown(synced);
  await synced.catch(() => undefined);
}

export async function deactivate(): Promise<void> {
  await extension?.dispose();
  extension = undefined;
}
