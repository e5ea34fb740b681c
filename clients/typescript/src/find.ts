import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";

const MISSING = "There is no einlass on the PATH. Install einlass-*.whl of a release as its INSTALL.md says, " +
  "or name einlass in the variable EINLASS.";

/**
 * Returns the path of einlass: from the variable EINLASS, else from the PATH, else beside the running program, else in
 * ~/.local/bin, else in the folder of an own copy. Throws if EINLASS names no program, or if there is none.
 */
export function findEinlass(...own: readonly string[]): string {
  const search = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const named = process.env.EINLASS;
  if (named) {
    const found = named.includes("/") ? isProgram(named) && named : first(search, named);
    if (!found) throw new Error(`The variable EINLASS names ${named}, which is no program. Correct or remove it.`);
    return found;
  }
  const beside = process.argv[1] ? [dirname(resolve(process.argv[1]))] : [];
  const found = first([...search, ...beside, join(homedir(), ".local/bin"), ...own], "einlass");
  if (!found) throw new Error(MISSING);
  return found;
}

function first(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
