// Images for `npm run test:compose`: those of `npm run images` under the names that compose gives them, and backends of the
// tests instead of NATS, Redis and MongoDB.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { root } from '../steps.mjs';

const buildah = (...args) =>
  execFileSync('buildah', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** Images of `npm run images` by service of deploy/compose.yaml. */
const images = {
  'jt808-gateway': 'jt808-gateway',
  'jt1078-media': 'jt1078-media',
  'device-api': 'device-api',
  'platform-api': 'platform-api',
  'platform-telemetry': 'platform-api',
  'upload-ftp': 'upload-ftp',
  'webhook-dispatcher': 'webhook-dispatcher',
  'reverse-proxy': 'local',
};

// The health check of MongoDB calls mongosh, which the package of the server does not have.
const mongosh = `#!/usr/local/bin/node
require('node:net').connect(27017, '127.0.0.1').once('connect', () => process.exit(0)).once('error', () => process.exit(1));
`;

// Redis refuses other hosts by default, which the official image permits.
const redisEntrypoint = ['sh', '-c', 'exec "$@" --protected-mode no', '--'];

/** Returns the backends of the tests by service: what is added to the base, and the start. */
const createBackends = (mongod) => ({
  nats: {
    packages: ['wget'],
    programs: [join(root, '.cache', 'bin', 'nats-server')],
    entrypoint: ['nats-server'],
    command: [],
  },
  redis: { packages: ['redis-server'], programs: [], entrypoint: redisEntrypoint, command: ['redis-server'] },
  mongodb: {
    packages: ['libcurl4'],
    programs: [mongod],
    scripts: { mongosh },
    entrypoint: ['mongod'],
    command: ['--bind_ip_all'],
  },
});

const nameOfBackend = (service) => `localhost/fleet/compose-${service}`;

function createBackend(service, base, { packages, programs: files, scripts = {}, entrypoint, command }) {
  const container = buildah('from', base);
  if (packages.length > 0) {
    const install = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`;
    buildah('run', '--isolation', 'chroot', container, '--', 'sh', '-c', install);
  }
  for (const file of files) buildah('copy', '-q', container, file, `/usr/local/bin/${basename(file)}`);
  const folder = mkdtempSync(join(tmpdir(), 'fleet-compose-'));
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), text, { mode: 0o755 });
    buildah('copy', '-q', container, join(folder, name), `/usr/local/bin/${name}`);
  }
  rmSync(folder, { recursive: true });
  buildah('config', '--entrypoint', JSON.stringify(entrypoint), '--cmd', JSON.stringify(command), container);
  buildah('commit', '-q', '--rm', container, nameOfBackend(service));
}

/** Copies an image from the store of buildah to that of Docker. */
const copyToDocker = (from, to) => buildah('push', '-q', from, `docker-daemon:${to}:latest`);

/** Creates all images in Docker, with a MongoDB server. Returns a compose file that selects them. */
export function createComposeImages(base, mongod) {
  const services = {};
  for (const [service, image] of Object.entries(images)) {
    copyToDocker(`localhost/fleet/${image}`, `fleet/${image}`);
    services[service] = { image: `fleet/${image}`, pull_policy: 'never' };
  }
  for (const [service, backend] of Object.entries(createBackends(mongod))) {
    createBackend(service, base, backend);
    copyToDocker(nameOfBackend(service), `fleet/compose-${service}`);
    services[service] = { image: `fleet/compose-${service}`, pull_policy: 'never' };
  }
  return { services };
}
