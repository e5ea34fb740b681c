import { join } from "node:path";
import { CancellationError, env, LogOutputChannel, UIKind, window, workspace } from "vscode";
import { Client, EinlassError, findEinlass, NextRequest, Provider } from "../../typescript/src/index";
import { Prompts } from "./prompts";
import { advice, plain, sentences } from "./text";

/** The folder of the einlass in a package of a release. */
const OWN = join(__dirname, "../../../bin");
/** The name to which people grant access. */
export const APPLICATION = "vscode";
/** The requests that a button offers, by the method of a next step. */
const BUTTONS: Readonly<Record<string, string>> = {
  "accounts.signIn": "Sign In", "access.reset": "Ask Again", "access.set": "Allow", "providers.configure": "Set Up",
};
/** The person has just done this. */
const BY_PERSON = ["userCanceled", "userCanceledAccountSelection", "cancelled"];

/** The running einlass. It is started when it is needed, also after it has ended by itself. */
export class Einlass {
  readonly prompts = new Prompts(async (provider) =>
    (await this.client()).list("accounts.list", "accounts", { provider }));
  private running?: Promise<Client>;
  /** That of `running`, also before its first answer. */
  private spawned?: Client;

  /** @param started is called with each new einlass before its first answer */
  constructor(private readonly log: LogOutputChannel, private readonly started: (client: Client) => void) {}

  client(): Promise<Client> {
    return this.running ?? this.start();
  }

  async close(): Promise<void> {
    const { spawned } = this;
    this.running = this.spawned = undefined;
    await spawned?.close();
  }

  /** Whether people sign in by a code: always on another machine, because the browser cannot come back to it. */
  byCode(): boolean {
    const wish = workspace.getConfiguration("einlass").get<string>("signInWith");
    return wish === "deviceCode" || (wish !== "browser" && (env.remoteName !== undefined || env.uiKind === UIKind.Web));
  }

  /** Does the work, shows its problem, and does it again after the person has chosen the request that helps. */
  async mended<T>(client: Client, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof EinlassError)) throw error;
      if (BY_PERSON.includes(error.reason)) throw new CancellationError();
      const step = error.next.find((one): one is NextRequest => one.method !== undefined && one.method in BUTTONS);
      const button = step && BUTTONS[step.method];
      const shown = window.showErrorMessage(advice(error), ...(button ? [button] : []));
      if (!step || !button || (await shown) !== button) throw error;
      if (step.method === "providers.configure") {
        if (!(await this.configure(client, String(step.params?.provider)))) throw error;
      } else {
        await client.follow(step);
      }
      return work();
    }
  }

  /** Asks for the registration at a provider and stores it. Returns whether the person has entered one. */
  async configure(client: Client, id: string): Promise<boolean> {
    const provider = (await this.providers(client)).find((one) => one.id === id);
    if (!provider) throw new Error(`There is no provider ${plain(id)}.`);
    const { documentation, form, steps: numbered = [], redirect, costs, approval, ends, notes } = provider.setup;
    const steps = sentences(
      `Register at ${form ?? documentation}`, redirect && `with the address ${redirect}`,
      ...numbered.map((step, index) => `${index + 1}. ${step}`), costs, approval, ends, notes);
    const title = `Your registration at ${plain(provider.name)}`;
    const clientId = await this.prompts.input(undefined, { title, placeHolder: "Client id", prompt: plain(steps) });
    if (!clientId) return false;
    const clientSecret = await this.prompts.input(undefined, {
      title, password: true, placeHolder: "Client secret", prompt: "Leave it empty if there is none." });
    if (clientSecret === undefined) return false;
    await client.request("providers.configure", { provider: id, clientId, ...(clientSecret ? { clientSecret } : {}) });
    return true;
  }

  /** The providers at which a person can sign in for a token. */
  async providers(client: Client): Promise<Provider[]> {
    const all = await client.list("providers.list", "providers");
    return all.filter(({ flowKinds, retired }) =>
      !retired && (flowKinds.includes("authorizationCode") || flowKinds.includes("deviceCode")));
  }

  private start(): Promise<Client> {
    const running = (this.running = this.launch());
    // `close` has forgotten it before its end, and a new one may be running then.
    const forget = () => {
      const unexpected = this.running === running;
      if (unexpected) this.running = undefined;
      return unexpected;
    };
    void running.then((client) => client.ended.then(({ message }) => {
      if (forget()) return this.restart(message);
    }), forget);
    return running;
  }

  private async launch(): Promise<Client> {
    const path = workspace.getConfiguration("einlass").get<string>("path");
    const log = (line: string) => this.log.info(line);
    const client = new Client({ prompts: this.prompts.handlers, command: [path || findEinlass(OWN)], log });
    this.spawned = client;
    this.started(client);
    const locale = LANGUAGE.test(env.language) ? { locale: env.language } : {};
    await client.initialize(APPLICATION, { title: env.appName, ...locale }).catch(async (error) => {
      await client.close();
      throw this.spawned === client ? error : new CancellationError(); // `close` has ended it
    });
    return client;
  }

  private async restart(message: string): Promise<void> {
    const again = "Start Again";
    if ((await window.showErrorMessage(plain(message), again)) !== again) return;
    try {
      await this.client();
    } catch (error) {
      if (!(error instanceof CancellationError)) await this.restart((error as Error).message);
    }
  }
}

const LANGUAGE = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;
