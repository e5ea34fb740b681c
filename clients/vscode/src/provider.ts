import {
  AuthenticationProvider, AuthenticationProviderAuthenticationSessionsChangeEvent as Change,
  AuthenticationProviderSessionOptions, AuthenticationSession, CancellationError, EventEmitter, window,
} from "vscode";
import { Account, AccountsSignInParams, Client, EinlassError, Provider } from "../../typescript/src/index";
import { APPLICATION, Einlass } from "./einlass";
import { entry } from "./prompts";
import { plain } from "./text";

/** The reasons of errors that a sign-in alone mends. */
const SIGN_IN_HELPS = ["reloginNeeded", "noSystemAccount", "notIssuedToThisClient"];
const NOTHING: Change = { added: [], removed: [], changed: [] };

/** Returns the kind of flow for a sign-in: one that brings a token for `AuthenticationSession.accessToken`. */
export function flowKind(provider: Provider, byCode: boolean): AccountsSignInParams["flowKind"] | undefined {
  const kinds = provider.flowKinds.filter((kind) => kind === "authorizationCode" || kind === "deviceCode");
  return byCode && kinds.includes("deviceCode") ? "deviceCode" : kinds[0];
}

/** The accounts of one provider of einlass as sessions. The id of a session is that of its account. */
export class EinlassProvider implements AuthenticationProvider {
  private readonly changes = new EventEmitter<Change>();
  readonly onDidChangeSessions = this.changes.event;
  /** The announced sessions, without their tokens. */
  private readonly known = new Map<string, AuthenticationSession>();
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly einlass: Einlass, private readonly provider: Provider) {}

  /** The sessions with these scopes, or all. Their tokens are fresh, because VS Code asks again for each use. */
  async getSessions(
    scopes?: readonly string[], options: AuthenticationProviderSessionOptions = {},
  ): Promise<AuthenticationSession[]> {
    const client = await this.einlass.client();
    const { account: only } = options;
    const accounts = (await this.usable(client)).filter(({ account }) => !only || only.id === account);
    const found = await Promise.allSettled(accounts.map((account) => session(client, account, scopes ?? [])));
    const problem = found.find((result) => result.status === "rejected" && result.reason.retryable);
    const sessions = found.flatMap((result) => (result.status === "fulfilled" && result.value) || []);
    // Without the network an account is not signed out.
    if (sessions.length === 0 && problem?.status === "rejected") throw problem.reason;
    return sessions;
  }

  /** Lets the person choose an account or sign in, and allow what is missing. */
  async createSession(
    scopes: readonly string[], options: AuthenticationProviderSessionOptions = {},
  ): Promise<AuthenticationSession> {
    const client = await this.einlass.client();
    let account = options.account?.id;
    const created = await this.einlass.mended(client, async () => {
      account ??= await this.chosen(client) ?? await this.signIn(client, scopes);
      return this.allowed(client, account, scopes);
    });
    // VS Code looks in `added` for the session that an extension waits for, with the scopes as it named them.
    await this.inTurn(async () => {
      const known = this.known.get(created.id);
      if (known?.scopes.join(" ") !== created.scopes.join(" ")) this.announce({ ...NOTHING, added: [created] });
    });
    return created;
  }

  /** Signs out of VS Code alone, or removes the account for all programs: the person decides. */
  async removeSession(id: string): Promise<void> {
    const client = await this.einlass.client();
    const account = (await this.accounts(client)).find((one) => one.account === id);
    if (!account) return this.refresh();
    const [leave, remove] = ["Sign Out of VS Code", "Remove the Account"];
    const chosen = await window.showWarningMessage(
      `Sign out of ${plain(account.username)} at ${plain(this.provider.name)}?`,
      { modal: true, detail: "Other programs on this computer may use the account too." }, leave, remove);
    if (chosen === leave) {
      await this.withdraw(client, id);
    } else if (chosen === remove) {
      const { notRevoked } = await client.request("accounts.remove", { account: id });
      if (notRevoked.length) {
        const rest = notRevoked.map(({ what, reason }) => plain(`${what}: ${reason}`)).join("; ");
        void window.showInformationMessage(
          `The account is removed here. Still valid at ${plain(this.provider.name)}: ${rest}`);
      }
    } else {
      throw new CancellationError();
    }
    await this.refresh();
  }

  /** Announces the difference to the last announcement. `silently` only notes the sessions. */
  refresh(silently = false): Promise<void> {
    return this.inTurn(async () => {
      const client = await this.einlass.client();
      const accounts = await this.usable(client);
      if (silently) return accounts.forEach((one) => this.known.set(one.account, made(one, "", [])));
      const now = new Map(accounts.map((one) => [one.account, one]));
      const removed = [...this.known.values()].filter(({ id }) => !now.has(id));
      const added = await present(client, accounts.filter((one) => !this.known.has(one.account)));
      this.announce({ added, removed, changed: [] });
    });
  }

  /** Announces a new token. */
  refreshed(id: string): Promise<void> {
    return this.inTurn(async () => {
      if (!this.known.has(id)) return;
      const client = await this.einlass.client();
      const accounts = (await this.usable(client)).filter(({ account }) => account === id);
      this.announce({ ...NOTHING, changed: await present(client, accounts) });
    });
  }

  private announce({ added = [], removed = [], changed = [] }: Change): void {
    removed.forEach(({ id }) => this.known.delete(id));
    [...added, ...changed].forEach((one) => this.known.set(one.id, { ...one, accessToken: "" }));
    if (added.length + removed.length + changed.length) this.changes.fire({ added, removed, changed });
  }

  /** One change after the other, so that each is announced once. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  /** The accounts that VS Code may use, by the access decisions. Asks for no token. */
  private async usable(client: Client): Promise<Account[]> {
    const grant = await this.grant(client);
    if (grant?.state !== "granted") return [];
    const all = await this.accounts(client);
    return all.filter((one) => one.signedIn && (grant.accounts?.includes(one.account) ?? true));
  }

  private accounts(client: Client): Promise<Account[]> {
    return client.list("accounts.list", "accounts", { provider: this.provider.id });
  }

  private async grant(client: Client) {
    const grants = await client.list("access.list", "grants");
    return grants.find((one) => one.application === APPLICATION && one.provider === this.provider.id);
  }

  private async withdraw(client: Client, id: string): Promise<void> {
    const grant = await this.grant(client);
    const rest = (await this.usable(client)).map((one) => one.account).filter((one) => one !== id);
    const { permissions, audience, includes } = grant ?? {};
    await (grant && rest.length
      ? client.request("access.set", {
        provider: this.provider.id, state: "granted", accounts: rest, permissions, audience, includes })
      : client.request("access.reset", { provider: this.provider.id }));
  }

  /** The account that the person picks, or `undefined` for a sign-in. */
  private async chosen(client: Client): Promise<string | undefined> {
    const accounts = await this.accounts(client);
    if (accounts.length === 0) return undefined;
    const other = { label: "Sign in to another account", answer: { account: undefined } };
    const answer = await this.einlass.prompts.pick<{ account?: string }>(
      undefined, `Account of ${plain(this.provider.name)}`, "", [...accounts.map(entry), other]);
    if (!answer) throw new CancellationError();
    return answer.account;
  }

  private async signIn(client: Client, scopes: readonly string[]): Promise<string> {
    const { account } = await client.request("accounts.signIn", {
      provider: this.provider.id, flowKind: flowKind(this.provider, this.einlass.byCode()), ...wanted(scopes) });
    return account!; // missing only when detached
  }

  /** Returns the session of an account, after the questions that stand before it: a sign-in, and access. */
  private async allowed(client: Client, id: string, scopes: readonly string[]): Promise<AuthenticationSession> {
    const account = (await this.accounts(client)).find((one) => one.account === id);
    const stand = account ?? { account: id, username: id };
    for (let questions = 0; ; questions += 1) {
      try {
        const found = await session(client, stand, scopes);
        if (found) return found;
        throw new Error(`The account of ${plain(this.provider.name)} has no token for VS Code.`);
      } catch (error) {
        if (!(error instanceof EinlassError) || questions === 2) throw error;
        if (SIGN_IN_HELPS.includes(error.reason) && error.nextRequest?.method === "accounts.signIn") {
          await client.follow(error.nextRequest, { flowKind: flowKind(this.provider, this.einlass.byCode()) });
        } else if (error.reason === "accessNotGranted") {
          await client.request("auth.perform", { provider: this.provider.id, account: id, credential: "none" });
        } else {
          throw error;
        }
      }
    }
  }
}

function wanted(scopes: readonly string[]): { scopes?: string[] } {
  return scopes.length ? { scopes: [...scopes] } : {};
}

function made(one: Pick<Account, "account" | "username">, accessToken: string, scopes: readonly string[]) {
  return { id: one.account, accessToken, account: { id: one.account, label: one.username }, scopes };
}

/** The session of an account, or `undefined` if its credential is no token. Shows no prompt. */
async function session(client: Client, one: Pick<Account, "account" | "username">, scopes: readonly string[]) {
  const { credential } = await client.request("credentials.get", { account: one.account, ...wanted(scopes) });
  if (credential.type !== "oauth2") return undefined;
  return made(one, credential.token, scopes.length ? scopes : credential.scopes);
}

/** The sessions of these accounts, without those that need the person. */
async function present(client: Client, accounts: Account[]): Promise<AuthenticationSession[]> {
  const found = await Promise.all(accounts.map((one) => session(client, one, []).catch(() => undefined)));
  return found.flatMap((one) => one ?? []);
}
