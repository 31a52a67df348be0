import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type CommandOptions, readOutput, runCommand } from '../run-command.ts';
import { StartError } from '../start-error.ts';
import { logTail } from '../supervised-process.ts';

/** A change of one place in a file of a Go module that a program is built with. */
export interface SourcePatch {
  readonly module: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/** A folder of the building module whose Go files are added to the patched module. */
export interface SourceOverlay {
  readonly folder: string;
  /** Folder in the patched module. */
  readonly target: string;
}

/** How a module is changed: all patches are for the same module. */
export interface SourceChanges {
  readonly patches: readonly SourcePatch[];
  readonly overlays: readonly SourceOverlay[];
}

/**
 * Copies the one module of the changes with them into a folder, and the building module's go.mod with that instead of the original; the path of that go.mod, for
 * `-modfile`. (`-overlay` refuses files of the module cache.)
 */
export async function createPatchedModule(
  go: string,
  { patches, overlays }: SourceChanges,
  folder: string,
  options: CommandOptions & { readonly cwd: string },
): Promise<string> {
  const module = patches[0]?.module ?? '';
  const run = async (...args: string[]): Promise<void> => {
    if ((await runCommand(go, args, options)) === 0) return;
    throw new StartError(`The sources of ${module} could not be had.`, logTail(options.logFile));
  };
  await run('mod', 'download', module);
  const found = await readOutput(go, ['list', '-C', options.cwd, '-mod=readonly', '-m', '-f', '{{.Dir}}', module]);
  const target = resolve(folder, 'module');
  rmSync(folder, { recursive: true, force: true });
  copyFiles((found ?? '').trim(), target);
  for (const patch of patches) {
    const path = join(target, patch.file);
    writeFileSync(path, applyPatch(readFileSync(path, 'utf8'), patch));
  }
  for (const overlay of overlays) copyFiles(join(options.cwd, overlay.folder), join(target, overlay.target));
  const modFile = resolve(folder, 'patched.mod');
  copyFileSync(join(options.cwd, 'go.mod'), modFile);
  copyFileSync(join(options.cwd, 'go.sum'), resolve(folder, 'patched.sum'));
  await run('mod', 'edit', `-replace=${module}=${target}`, modFile);
  return modFile;
}

/** What is built of a module; as files of ours, since those of the module cache cannot be written. */
function copyFiles(from: string, to: string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('_test.go')) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, source.slice(from.length));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(source));
  }
}

/** The text with the change; an error where the version is another than the patch is for. */
export function applyPatch(text: string, { module, file, from, to }: SourcePatch): string {
  const fragments = text.split(from);
  if (fragments.length !== 2) throw new StartError(`${file} of ${module} is not what the patch is for.`);
  return fragments.join(to);
}
