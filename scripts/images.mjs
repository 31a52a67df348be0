// npm run images: builds the image of every service with buildah, starts each once and requests /livez, writes a bill of
// materials of each (CycloneDX), and prints the sizes. BASE selects another base image with Node.js; patterns of services may follow.
//   BASE=localhost/node npm run images -- gateway
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sbomFolder, writeSbom } from './images/sbom.mjs';
import { root } from './steps.mjs';

const services = ['jt808-gateway', 'jt1078-media', 'device-api', 'platform-api', 'upload-ftp', 'webhook-dispatcher'];
/** The reverse proxy of compose.yaml; it has no admin port. */
const proxy = 'local';
const startTimeoutMs = 60_000;

/** Settings without which a service does not start. The backends are absent: a live process waits for them. */
const sampleSettings = {
  GATEWAY_AUTH_SECRET: 'only-for-the-test-of-an-image-0123456789',
  MEDIA_SIGNING_SECRET: 'only-for-the-test-of-an-image-0123456789',
  CLIPS_SIGNING_SECRET: 'only-for-the-test-of-an-image-0123456789',
  STREAM_TOKEN_SECRET: 'only-for-the-test-of-an-image-0123456789',
  ENCRYPTION_KEY: 'only-for-the-test-of-an-image-0123456789',
  CLIPS_DIR: '/data',
  DEVICE_API_AUTH: 'key',
};

if (spawnSync('buildah', ['--version']).error !== undefined) {
  console.error('There is no buildah on the PATH. Install it (Debian: apt-get install buildah), then try again.');
  process.exit(1);
}

const buildah = (...args) => execFileSync('buildah', args, { cwd: root, encoding: 'utf8' }).trim();
const tagOf = (service) => `localhost/fleet/${service}`;

function build(service) {
  const base = process.env['BASE'];
  const args = [
    '--layers',
    '--isolation',
    'chroot',
    '-f',
    'deploy/Dockerfile',
    '--ignorefile',
    'deploy/Dockerfile.dockerignore',
  ];
  if (base !== undefined) args.push('--build-arg', `BASE=${base}`);
  args.push('--build-arg', `SERVICE=${service}`, '-t', tagOf(service), '.');
  const { status } = spawnSync('buildah', ['bud', ...args], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`The image of ${service} could not be built: see the output above.`);
}

/** Returns the size of an image in bytes. */
function sizeOf(service) {
  const [image] = JSON.parse(buildah('images', '--json', tagOf(service)));
  return image.size;
}

/** Returns an unused port: containers have the network of this machine. */
async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('The system returned no port.');
  return address.port;
}

/** Returns whether a service of this name responds: another process on the port would have another name. */
async function isLive(service, adminPort) {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${adminPort}/livez`);
    const metrics = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
    return ok && (await metrics.text()).includes(`service="${service}"`);
  } catch {
    // It does not listen yet.
    return false;
  }
}

/** Runs a service until standard input ends: signals to buildah do not reach the processes of a container. */
const untilInputEnds =
  'tini -s -- node --enable-source-maps dist/bundle/main.js & pid=$!; read -r _; kill $pid; wait $pid';

/** Starts the image of a service and waits until it is live. Throws if it is not in time. */
async function start(service) {
  const adminPort = await findFreePort();
  const container = buildah('from', tagOf(service));
  const settings = { ...sampleSettings, ADMIN_PORT: String(adminPort), HOST: '127.0.0.1' };
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const args = ['run', '--isolation', 'chroot', ...env, container, '--', 'sh', '-c', untilInputEnds];
  const child = spawn('buildah', args, { cwd: root, stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const deadline = performance.now() + startTimeoutMs;
    while (!(await isLive(service, adminPort))) {
      if (performance.now() > deadline || child.exitCode !== null)
        throw new Error(`${service} is not live:\n${output}`);
      await sleep(200);
    }
  } finally {
    child.stdin.end();
    await ended;
    buildah('rm', container);
  }
}

/** Writes the bill of materials of an image, and returns a phrase about it. */
function describePackages(service) {
  const container = buildah('from', tagOf(service));
  try {
    const { npm, debian } = writeSbom(service, buildah, container);
    return `${npm} packages of npm and ${debian} of Debian`;
  } finally {
    buildah('rm', container);
  }
}

const formatSize = (bytes) => (typeof bytes === 'string' ? bytes : `${Math.round(bytes / 1e6)} MB`);

const patterns = process.argv.slice(2);
const isWanted = (service) => patterns.length === 0 || patterns.some((pattern) => service.includes(pattern));
const rows = [];
for (const service of [...services, proxy].filter(isWanted)) {
  build(service);
  if (service !== proxy) await start(service);
  const state = service === proxy ? '' : ', live';
  rows.push(`${service.padEnd(20)} ${formatSize(sizeOf(service))}${state}, ${describePackages(service)}`);
}
console.log(`${rows.join('\n')}\nBills of materials: ${sbomFolder}`);
