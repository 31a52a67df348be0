// Bundles each service into a few files: loading a thousand modules dominates the start-up time, and Node.js 20 stores
// no compiled code.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { root } from './steps.mjs';

const services = ['device-api', 'jt1078-media', 'jt808-gateway', 'platform-api', 'upload-ftp', 'webhook-dispatcher'];
const stampFile = join(root, 'node_modules', '.bundled-from');

/** Packages that load native code, workers or adjacent files, and the optional packages of the MongoDB driver. */
const external = [
  '@node-rs/argon2',
  'fluent-ffmpeg',
  'ftp-srv',
  'tesseract.js',
  '@aws-sdk/credential-providers',
  '@mongodb-js/zstd',
  'aws4',
  'gcp-metadata',
  'kerberos',
  'mongodb-client-encryption',
  'snappy',
  'socks',
];

/** Bundled CommonJS packages load the modules of Node.js by `require`. */
const banner = `import { realpathSync as bundleRealpath } from 'node:fs';
import { createRequire as bundleRequire } from 'node:module';
import { pathToFileURL as bundleUrl } from 'node:url';
const require = bundleRequire(import.meta.url);`;

/** Returns the code of a module's URL. An image has the libraries in node_modules alone, as links. */
function toUrlCode(folder, path) {
  const [, library, file] = /\/libs\/([^/]+)\/(.*)$/.exec(path) ?? [];
  if (library === undefined) return `new URL(${JSON.stringify(relative(folder, path))}, import.meta.url).href`;
  const linked = JSON.stringify(`../../node_modules/@fleet/${library}/${file}`);
  return `bundleUrl(bundleRealpath(new URL(${linked}, import.meta.url))).href`;
}

/** Preserves the URLs of files that modules load from their own folder. */
const urlPlugin = (folder) => ({
  name: 'urls',
  setup(build) {
    build.onLoad({ filter: /\/(libs|services)\/[^/]+\/dist\/.*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const url = toUrlCode(folder, path);
      return text.includes('import.meta.url') ? { contents: text.replaceAll('import.meta.url', url) } : undefined;
    });
  },
});

/** Removes packages from a source map: Node.js reads the maps at each start, and packages are nine tenths of them. */
function withoutPackages(text) {
  const map = JSON.parse(text);
  const isOwn = map.sources.map((source) => !source.includes('node_modules'));
  const lines = decode(map.mappings).map((line) => line.filter(([, source]) => source !== undefined && isOwn[source]));
  const sources = map.sources.map((source, index) => (isOwn[index] ? source : ''));
  return JSON.stringify({ ...map, sources, names: [], mappings: encode(lines.map(withoutNames)) });
}

/** A segment is [column, source, line, column, name]. */
const withoutNames = (line) => line.map((segment) => segment.slice(0, 4));

async function bundleService(esbuild, service) {
  const folder = join(root, 'services', service, 'dist');
  const outdir = join(folder, 'bundle');
  await rm(outdir, { recursive: true, force: true });
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [join(folder, 'main.js')],
    outdir,
    banner: { js: banner },
    bundle: true,
    external,
    format: 'esm',
    logLevel: 'warning',
    platform: 'node',
    plugins: [urlPlugin(outdir)],
    sourcemap: true,
    sourcesContent: false,
    splitting: true,
    target: 'node20.19',
    write: false,
  });
  await mkdir(outdir);
  const write = ({ path, text }) => writeFile(path, path.endsWith('.map') ? withoutPackages(text) : text);
  await Promise.all(outputFiles.map(write));
}

/** Returns a hash of this file, the lockfile, and the path, size and time of each built file. */
function fingerprintOfSources() {
  const hash = createHash('sha256');
  for (const file of ['scripts/bundle.mjs', 'pnpm-lock.yaml']) hash.update(readFileSync(join(root, file)));
  for (const group of ['libs', 'services']) {
    for (const name of readdirSync(join(root, group))) {
      // Built by Vite, and part of no bundle.
      if (name === 'dashboard') continue;
      const folder = join(root, group, name, 'dist');
      const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
      for (const file of files.toSorted((a, b) => (a < b ? -1 : 1))) {
        if (!file.endsWith('.js') || file.startsWith('bundle')) continue;
        const { size, mtimeMs } = statSync(join(folder, file));
        hash.update(`${group}/${name}/${file} ${size} ${mtimeMs}\n`);
      }
    }
  }
  return hash.digest('hex');
}

const isBundled = () => services.every((name) => existsSync(join(root, 'services', name, 'dist', 'bundle', 'main.js')));

/**
 * Bundles the services into `dist/bundle/main.js` of each, unless nothing changed since the last run. Throws the errors
 * of esbuild.
 */
async function bundleServices() {
  const fingerprint = fingerprintOfSources();
  if (isBundled() && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === fingerprint) return;
  const esbuild = await import('esbuild');
  for (const service of services) await bundleService(esbuild, service);
  writeFileSync(stampFile, fingerprint);
}

if (import.meta.filename === process.argv[1]) await bundleServices();
