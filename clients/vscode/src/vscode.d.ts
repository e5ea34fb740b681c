/** The parts of the API of VS Code that this extension uses, because Debian has no types of it. */
declare module "vscode" {
  type Thenable<T> = PromiseLike<T>;
  export interface Disposable {
    dispose(): unknown;
  }
  export type Event<T> = (listener: (event: T) => unknown) => Disposable;
  export class EventEmitter<T> implements Disposable {
    readonly event: Event<T>;
    fire(event: T): void;
    dispose(): void;
  }
  export interface CancellationToken {
    readonly isCancellationRequested: boolean;
    readonly onCancellationRequested: Event<unknown>;
  }
  export class CancellationTokenSource implements Disposable {
    readonly token: CancellationToken;
    cancel(): void;
    dispose(): void;
  }
  export class CancellationError extends Error {}
  export interface ExtensionContext {
    readonly subscriptions: Disposable[];
  }

  export interface AuthenticationSessionAccountInformation {
    readonly id: string;
    readonly label: string;
  }
  export interface AuthenticationSession {
    readonly id: string;
    readonly accessToken: string;
    readonly account: AuthenticationSessionAccountInformation;
    readonly scopes: readonly string[];
  }
  export interface AuthenticationProviderAuthenticationSessionsChangeEvent {
    readonly added?: readonly AuthenticationSession[];
    readonly removed?: readonly AuthenticationSession[];
    readonly changed?: readonly AuthenticationSession[];
  }
  export interface AuthenticationProviderSessionOptions {
    account?: AuthenticationSessionAccountInformation;
  }
  export interface AuthenticationProvider {
    readonly onDidChangeSessions: Event<AuthenticationProviderAuthenticationSessionsChangeEvent>;
    getSessions(
      scopes: readonly string[] | undefined, options: AuthenticationProviderSessionOptions,
    ): Promise<AuthenticationSession[]>;
    createSession(
      scopes: readonly string[], options: AuthenticationProviderSessionOptions,
    ): Promise<AuthenticationSession>;
    removeSession(sessionId: string): Promise<void>;
  }
  export namespace authentication {
    export function registerAuthenticationProvider(
      id: string, label: string, provider: AuthenticationProvider, options: { supportsMultipleAccounts: boolean },
    ): Disposable;
  }

  export interface QuickPickItem {
    label: string;
    description?: string;
    detail?: string;
  }
  export interface InputBoxOptions {
    title?: string;
    prompt?: string;
    placeHolder?: string;
    password?: boolean;
    ignoreFocusOut?: boolean;
    validateInput?(value: string): string | undefined;
  }
  export enum ProgressLocation {
    Notification = 15,
  }
  export interface LogOutputChannel extends Disposable {
    info(line: string): void;
    show(): void;
  }
  export namespace window {
    export function showQuickPick<T extends QuickPickItem>(
      items: readonly T[], options: { title?: string; placeHolder?: string; ignoreFocusOut?: boolean },
      token?: CancellationToken,
    ): Thenable<T | undefined>;
    export function showInputBox(options: InputBoxOptions, token?: CancellationToken): Thenable<string | undefined>;
    export function showInformationMessage(message: string, ...buttons: string[]): Thenable<string | undefined>;
    export function showWarningMessage(
      message: string, options: { modal: boolean; detail?: string }, ...buttons: string[]
    ): Thenable<string | undefined>;
    export function showErrorMessage(message: string, ...buttons: string[]): Thenable<string | undefined>;
    export function withProgress<T>(
      options: { location: ProgressLocation; title: string; cancellable: boolean },
      task: (progress: unknown, token: CancellationToken) => Thenable<T>,
    ): Thenable<T>;
    export function createOutputChannel(name: string, options: { log: true }): LogOutputChannel;
  }
  export enum UIKind {
    Desktop = 1,
    Web = 2,
  }
  export namespace env {
    export const uiKind: UIKind;
    export const appName: string;
    export const language: string;
    export const remoteName: string | undefined;
    export const clipboard: { writeText(text: string): Thenable<void> };
    /** VS Code opens a string unchanged. A Uri loses the percent signs of its query (microsoft/vscode#85930). */
    export function openExternal(target: string): Thenable<boolean>;
  }
  export namespace commands {
    export function registerCommand(id: string, work: (...values: string[]) => unknown): Disposable;
    export function executeCommand(id: string, ...values: string[]): Thenable<unknown>;
  }
  export namespace workspace {
    export function getConfiguration(section: string): { get<T>(name: string): T | undefined };
    export const onDidChangeConfiguration: Event<{ affectsConfiguration(section: string): boolean }>;
  }
}
