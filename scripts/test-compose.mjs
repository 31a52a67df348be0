// npm run test:compose: runs deploy/compose.yaml with Docker, with the images of `npm run images` and the backends of the
// tests. Runs the smoke test, kills services, and removes everything. Needs root, Docker with compose 2.23 or later, and
// buildah. Uses the ports of the compose file. Settings: BASE (base of the images).
import './node-version.mjs';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createComposeImages } from './compose/images.mjs';
import { prepare } from './prepare.mjs';
import { Processes, waitUntil } from './processes.mjs';
import { runSmokeTest, smokeTerminals } from './smoke-terminals.mjs';
import { root } from './steps.mjs';

const baseUrl = 'http://127.0.0.1:8080';
const owner = { email: 'owner@fleet.example', password: 'only for this test run' };
const apiKey = `fk_${'0'.repeat(43)}`;
const secret = (name) => `${name}-only-for-this-test-run-0123456789`;
const secretNames = [
  'GATEWAY_AUTH_SECRET',
  'MEDIA_SIGNING_SECRET',
  'CLIPS_SIGNING_SECRET',
  'STREAM_TOKEN_SECRET',
  'ENCRYPTION_KEY',
];

const environment = {
  ...process.env,
  PUBLIC_HOST: '127.0.0.1',
  OWNER_EMAIL: owner.email,
  OWNER_PASSWORD: owner.password,
  OWNER_API_KEY: apiKey,
  ...Object.fromEntries(secretNames.map((name) => [name, secret(name)])),
};

const folder = mkdtempSync(join(tmpdir(), 'fleet-compose-'));
const override = join(folder, 'images.json');

/** Runs docker compose for a project of this test. Throws with its output if it fails. */
function compose(...args) {
  const files = ['-f', join(root, 'deploy', 'compose.yaml'), '-f', override];
  const { status, stdout, stderr } = spawnSync('docker', ['compose', '-p', 'fleet-test', ...files, ...args], {
    env: environment,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`docker compose ${args.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}

async function post(path, body, headers = {}) {
  const response = await fetch(`${baseUrl}/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return /** @type {{ data: any }} */ (await response.json()).data;
}

/** Creates the vehicles of the smoke test, as the first owner. */
async function createVehicles() {
  const { access_token: token } = await post('/auth/login', { identifier: owner.email, password: owner.password });
  for (const imei of smokeTerminals)
    await post('/vehicles', { vehicle_no: imei, imei }, { authorization: `Bearer ${token}`, 'x-api-key': apiKey });
}

/** Returns the services that are not healthy. */
function listUnhealthy() {
  const lines = compose('ps', '--format', 'json').trim().split('\n');
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ Health: health }) => health !== 'healthy')
    .map(({ Service: name }) => name);
}

const waitUntilHealthy = () =>
  waitUntil(
    'the health of every service',
    () => {
      const unhealthy = listUnhealthy();
      if (unhealthy.length > 0) throw new Error(unhealthy.join(', '));
      return true;
    },
    { timeoutMs: 180_000, intervalMs: 2_000 },
  );

/** Kills the first process of a container. After `docker kill` Docker would not restart the container. */
async function kill(service) {
  const inspect = (format) =>
    execFileSync('docker', ['inspect', '--format', format, `fleet-test-${service}-1`], { encoding: 'utf8' }).trim();
  const restarts = inspect('{{.RestartCount}}');
  process.kill(Number(inspect('{{.State.Pid}}')), 'SIGKILL');
  await waitUntil(`the restart of ${service}`, () => inspect('{{.RestartCount}}') !== restarts);
}

/** Returns whether a terminal responds to a command. */
async function responds(imei) {
  const headers = { 'x-api-key': apiKey };
  const response = await fetch(`${baseUrl}/api/v1/wakeup?imei=${imei}`, { headers });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return true;
}

let failed = 0;
async function check(title, run) {
  const startedMs = performance.now();
  try {
    await run();
    console.log(`  passed: ${title} (${((performance.now() - startedMs) / 1_000).toFixed(0)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`  FAILED: ${title}\n${error.message.replace(/^/gm, '    ')}`);
  }
}

const version = spawnSync('docker', ['compose', 'version', '--short'], { encoding: 'utf8' });
if (version.status !== 0) {
  console.error('docker compose does not run on this machine.');
  process.exit(1);
}
console.log(`docker compose ${version.stdout.trim()}`);
await prepare();
const { createProgress } = await import('../deploy/local/dist/progress.js');
const { prepareMongod } = await import('../deploy/local/dist/test-mongod.js');
const { prepareProductBackends } = await import('../deploy/local/dist/test-backends.js');
const progress = createProgress((text) => process.stdout.write(text));
await prepareProductBackends(progress);
const mongod = await prepareMongod(progress);
if (mongod === undefined) process.exit(1);
mkdirSync(folder, { recursive: true });
writeFileSync(override, JSON.stringify(createComposeImages(process.env['BASE'] ?? 'localhost/node', mongod)));
const processes = new Processes(join(folder, 'logs'));
try {
  await check('every service starts and is healthy', async () => {
    compose('up', '--detach', '--no-build');
    await waitUntilHealthy();
  });
  await check('the smoke test passes', async () => {
    await createVehicles();
    await runSmokeTest(processes, folder, { baseUrl, gateway: '127.0.0.1', apiKey });
  });
  for (const service of ['jt808-gateway', 'device-api', 'platform-api', 'nats', 'redis', 'mongodb'])
    await check(`${service} is restarted after a kill, and commands reach a terminal again`, async () => {
      await kill(service);
      await waitUntilHealthy();
      await waitUntil('the response of a terminal', () => responds(smokeTerminals[0]));
    });
  await check('all data is there after all containers were created again', async () => {
    compose('down', '--timeout', '150');
    compose('up', '--detach', '--no-build');
    await waitUntilHealthy();
    await waitUntil('the response of a terminal', () => responds(smokeTerminals[1]));
    await post('/auth/login', { identifier: owner.email, password: owner.password });
  });
} finally {
  await processes.stop();
  compose('down', '--volumes', '--timeout', '5');
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed === 0 ? 'All checks passed.' : `${failed} checks failed.`);
process.exitCode = failed === 0 ? 0 : 1;
