// Preparation of every command: installs the packages of the lockfile and builds the TypeScript. Both are fast if
// nothing changed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pnpmCommand } from './pnpm.mjs';
import { root, runStep, wasInterrupted } from './steps.mjs';

const stampFile = join(root, 'node_modules', '.installed-from');

/**
 * Returns a hash of everything that determines an install: every package.json of the workspace, the lockfile and the
 * settings.
 */
function installFingerprint() {
  const packages = ['libs', 'services', 'deploy'].flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name, 'package.json')),
  );
  const files = [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'package.json',
    join('test-e2e', 'package.json'),
    ...packages,
  ];
  const hash = createHash('sha256').update(process.platform + process.arch);
  for (const file of files.toSorted((a, b) => (a < b ? -1 : 1))) {
    if (existsSync(join(root, file))) hash.update(`\n${file}\n`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/** Installs the packages unless those of the lockfile are already installed. */
export async function install() {
  const fingerprint = installFingerprint();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === fingerprint) return true;
  // CI=true: pnpm shows no prompts and never changes the lockfile.
  const [command, ...args] = pnpmCommand('install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only');
  const { ok } = await runStep('Installing packages (pnpm)', command, args, { env: { ...process.env, CI: 'true' } });
  if (ok) writeFileSync(stampFile, fingerprint);
  else
    console.error(
      'The packages could not be installed: check the network or the npm registry setting, then try again.',
    );
  return ok;
}

/** Steps after the compiler. Each does nothing if its inputs did not change. */
const buildSteps = [
  ['Bundling the services (esbuild)', 'bundle.mjs'],
  ['Building the dashboard (vite)', 'build-dashboard.mjs'],
];

/** Compiles the sources and bundles the services. Returns { ok, seconds }. */
export async function build() {
  const startedAt = performance.now();
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const compiled = await runStep('Building (tsc -b)', process.execPath, [compiler, '-b'], { quiet: true });
  if (!compiled.ok) return compiled;
  for (const [name, script] of buildSteps) {
    const { ok } = await runStep(name, process.execPath, [join(root, 'scripts', script)], { quiet: true });
    if (!ok) return { ok, seconds: (performance.now() - startedAt) / 1000 };
  }
  return { ok: true, seconds: (performance.now() - startedAt) / 1000 };
}

/** Installs and builds. Exits this process with an error message if either fails. */
export async function prepare() {
  if (!(await install())) process.exit(1);
  const { ok } = await build();
  if (ok) return;
  if (!wasInterrupted()) console.error('The build failed: see the errors above.');
  process.exit(1);
}
