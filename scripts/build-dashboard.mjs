// Builds the dashboard with Vite, unless none of its sources changed since the last build. Writes compressed forms beside
// the files that browsers load.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { root } from './steps.mjs';

const folder = join(root, 'services', 'dashboard');
const output = join(folder, 'dist', 'app');
const stampFile = join(folder, 'dist', '.built-from');

/** Returns a hash of everything that determines the build. */
function fingerprintOfSources() {
  const hash = createHash('sha256');
  const inputs = [
    import.meta.filename,
    join(root, 'pnpm-lock.yaml'),
    ...['index.html', 'share.html', 'vite.config.ts', 'package.json'].map((name) => join(folder, name)),
    join(root, 'services', 'platform-api', 'data', 'places.tsv'),
    ...['build', 'src'].flatMap((name) => listFiles(join(folder, name))),
    ...listFiles(join(root, 'libs', 'api-client', 'dist')).filter((path) => path.endsWith('.js')),
  ];
  for (const path of inputs) hash.update(path).update(readFileSync(path));
  return hash.digest('hex');
}

const listFiles = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();

/** Smaller files fit into one packet. */
const minCompressedBytes = 1024;

/** Writes each file of the assets that becomes smaller as Brotli (`.br`) and gzip (`.gz`) too. */
async function compressAssets() {
  const paths = listFiles(join(output, 'assets')).filter((path) => /\.(?:js|css|json|svg|bin)$/.test(path));
  for (const path of paths) {
    const content = readFileSync(path);
    if (content.length < minCompressedBytes) continue;
    const [small, compatible] = await Promise.all([promisify(brotliCompress)(content), promisify(gzip)(content)]);
    writeFileSync(`${path}.br`, small);
    writeFileSync(`${path}.gz`, compatible);
  }
}

/** Builds into `dist/app` of the dashboard. Returns the exit code of Vite. */
async function buildDashboard() {
  const fingerprint = fingerprintOfSources();
  const isBuilt = existsSync(join(output, 'index.html')) && existsSync(stampFile);
  if (isBuilt && readFileSync(stampFile, 'utf8') === fingerprint) return 0;
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  const { status } = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (status !== 0) return status ?? 1;
  await compressAssets();
  writeFileSync(stampFile, fingerprint);
  return 0;
}

if (import.meta.filename === process.argv[1]) process.exitCode = await buildDashboard();
