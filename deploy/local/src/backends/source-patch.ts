import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type CommandOptions, readOutput, runCommand } from '../run-command.ts';
import { StartError } from '../start-error.ts';
import { logTail } from '../supervised-process.ts';

/** A change at one position in a file of a Go module. */
export interface SourcePatch {
  readonly module: string;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/** A folder of the building module whose Go files are added to the patched module. */
export interface SourceOverlay {
  readonly folder: string;
  /** Folder in the patched module. */
  readonly target: string;
}

/** Changes to one module: all patches are for the same module. */
interface SourceChanges {
  readonly patches: readonly SourcePatch[];
  readonly overlays: readonly SourceOverlay[];
}

/**
 * Copies the patched module into a folder, together with a copy of the building module's go.mod that refers to it.
 * Returns the path of that go.mod, for `-modfile`. (`-overlay` refuses files of the module cache.)
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
    throw new StartError(`The sources of ${module} could not be downloaded.`, logTail(options.logFile));
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

/** Copies the source files of a module, because those of the module cache are not writable. */
function copyFiles(from: string, to: string): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('_test.go')) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, source.slice(from.length));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(source));
  }
}

/** Returns the patched text; throws if the patch is for another version. */
export function applyPatch(text: string, { module, file, from, to }: SourcePatch): string {
  const fragments = text.split(from);
  if (fragments.length !== 2) throw new StartError(`${file} of ${module} does not match the patch.`);
  return fragments.join(to);
}
