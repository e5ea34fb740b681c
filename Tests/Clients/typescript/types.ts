// Compiles without an error: the good lines are typed, and each line below an expected error has one.
import { Account, Answer, Client, EinlassError, PromptHandlers } from "einlass";

async function requests(client: Client) {
  const { accounts } = await client.request("accounts.list");
  const first: Account = accounts[0];
  await client.request("accounts.list", { provider: first.provider }, { signal: new AbortController().signal });
  // @ts-expect-error: there is no such method
  await client.request("accounts.lists");
  // @ts-expect-error: the provider is missing
  await client.request("auth.perform", {});
  // @ts-expect-error: the parameters are missing
  await client.request("auth.perform");
  // @ts-expect-error: a word that the parameter has not
  await client.request("auth.perform", { provider: "github", selection: "never" });
  // @ts-expect-error: the result has no such member
  (await client.request("accounts.list")).account;
  const { credential } = await client.request("credentials.get", { account: first.account });
  // @ts-expect-error: a session has no token
  credential.token;
  if (credential.type === "oauth2") credential.token.toUpperCase();
  const all: Account[] = await client.list("accounts.list", "accounts", { provider: "github" });
  // @ts-expect-error: this method has no pages
  await client.list("network.status", "online");
  return all;
}

function notifications(client: Client) {
  const off: () => void = client.on("accounts.changed", ({ changes }) => changes[0].account.toUpperCase());
  // @ts-expect-error: there is no such notification
  client.on("accounts.change", () => undefined);
  // @ts-expect-error: the notification has no such member
  client.on("network.changed", ({ offline }) => offline);
  return off;
}

const handlers: PromptHandlers = {
  grantAccess: ({ permissions }) => permissions.length === 0,
  selectAccount: ({ accounts }) => ({ account: accounts[0].account }),
  confirmAccount: () => true,
  replaceAccount: () => ({}),
  openURL: async ({ url }, closed: AbortSignal) => !closed.aborted && { redirectURL: url },
  deviceCode: ({ userCode }) => (userCode === "" ? false : undefined),
  enterVerifier: ({ expects }) => ({ text: expects }),
  enterPassphrase: ({ purpose }) => ({ passphrase: purpose }),
  enterPassword: ({ server }) => ({ password: server }),
  trustCertificate: () => undefined,
  any: ({ show }) => show.buttons.some(({ action }) => action === "decline") && {},
};

const drawing: PromptHandlers = {
  any: async (prompt) => (prompt.kind === "selectAccount" ? { account: prompt.accounts[0].account } : true),
};
// @ts-expect-error: an answer has members, and is no text
const text: PromptHandlers = { any: () => "yes" };

// @ts-expect-error: an account is chosen by its id
const chosen: Answer<"selectAccount"> = true;
// @ts-expect-error: a page has no code
const wrong: PromptHandlers = { openURL: ({ userCode }) => userCode === "" };
// @ts-expect-error: there is no such kind
const unknown: PromptHandlers = { solveRiddle: () => true };

const problem = new EinlassError(1005, "", { reason: "reloginNeeded" });
const provider: string | undefined = problem.data.provider;

export { requests, notifications, handlers, drawing, text, chosen, wrong, unknown, provider };
