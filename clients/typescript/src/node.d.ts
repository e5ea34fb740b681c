/** The parts of node that this library and the extension use, because Debian has no types of node. */

declare const process: {
  readonly pid: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
};

declare const __dirname: string;

declare function setTimeout(work: () => void, milliseconds: number): { unref(): void };

interface AbortSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(): void;
}

declare module "node:child_process" {
  interface Output {
    setEncoding(encoding: "utf8"): void;
    destroy(): void;
    on(event: "data", listener: (text: string) => void): void;
    on(event: "close", listener: () => void): void;
  }
  interface Input {
    write(text: string): void;
    end(): void;
    on(event: "error", listener: (error: Error) => void): void;
  }
  interface ChildProcessWithoutNullStreams {
    readonly stdin: Input;
    readonly stdout: Output;
    readonly stderr: Output;
    kill(signal: "SIGTERM" | "SIGKILL"): boolean;
    on(event: "error", listener: (error: Error) => void): void;
    on(event: "exit", listener: (code: number | null, signal: string | null) => void): void;
  }
  export function spawn(
    program: string, options: readonly string[], more: { detached: boolean; stdio: "pipe" },
  ): ChildProcessWithoutNullStreams;
}

declare module "node:fs" {
  export function accessSync(path: string, mode: number): void;
  export function statSync(path: string): { isFile(): boolean };
  export const constants: { readonly X_OK: number };
}

declare module "node:os" {
  export function homedir(): string;
  export const constants: { readonly signals: Readonly<Record<string, number>> };
}

declare module "node:path" {
  export const delimiter: string;
  export function dirname(path: string): string;
  export function join(...parts: readonly string[]): string;
  export function resolve(path: string): string;
}
