// Causes the faults behind the alerts of k8s/components/monitoring, and prints which alerts a real Prometheus fires.
//   node scripts/alert-drill.mjs [alert ...]
// Starts a product of its own. Needs a build and prometheus in the PATH. Durations of the rules are shortened.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProduct } from '../deploy/local/dist/product.js';
import { LoadFleet, SimulatedTerminal } from '../libs/terminal-simulator/dist/index.js';
import { createAuditFault } from './alert-drill/audit-fault.mjs';
import { createFileFaults } from './alert-drill/file-faults.mjs';
import { SmallDisk } from './alert-drill/small-disk.mjs';
import { root } from './steps.mjs';

const alertTimeoutMs = 300_000;
/** More than 20 webhooks. */
const accounts = 3;
const webhooksPerAccount = 8;
const terminals = 10;

/** Settings that let the faults show soon. */
const settings = {
  DEVICE_REPLY_TIMEOUT_MS: '2000',
  RATE_LIMIT_COMMANDS_PER_MINUTE: '100000',
  RATE_LIMIT_COMMANDS_BURST: '100000',
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  // Commands of known callers are audited.
  DEVICE_API_AUTH: 'key',
  CLIPS_MIN_FREE_BYTES: '5000000000',
  MEDIA_MAX_TRANSCODERS: '1',
  WEBHOOK_RETRY_WAITS_MS: Array.from({ length: 15 }, () => '200').join(','),
};

async function findFreePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' ? address.port : 0;
}

/** Returns the rules of the manifests with durations of seconds, and with ten unpublished files instead of a hundred. */
function createRules() {
  const manifest = readFileSync(join(root, 'k8s', 'components', 'monitoring', 'alerts.yaml'), 'utf8');
  const [, spec = ''] = manifest.split('\nspec:\n');
  return spec
    .replaceAll(/^ {2}/gm, '')
    .replaceAll(/for: \d+m/g, 'for: 3s')
    .replaceAll('[30m]', '[2m]')
    .replaceAll(/\[(?:5|10|15)m\]/g, '[30s]')
    .replaceAll('offset 15m', 'offset 20s')
    .replace('files_unpublished > 100', 'files_unpublished > 10');
}

/** Starts Prometheus for the processes of a product. */
async function startPrometheus(product, folder) {
  const port = await findFreePort();
  const targets = Object.entries(product.runtime.health).map(([pod, url]) => ({
    targets: [new URL(url).host],
    labels: { pod },
  }));
  // The checks of a process wait two seconds for a backend that hangs.
  const config = {
    global: { scrape_interval: '4s', scrape_timeout: '4s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'fleet', static_configs: targets }],
  };
  writeFileSync(join(folder, 'rules.yaml'), createRules());
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${port}`;
  const parameters = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${address}`];
  const child = spawn('prometheus', parameters, { cwd: folder, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  return { url: `http://${address}`, stop: () => child.kill('SIGKILL') };
}

/** Returns the firing alerts by name, with the labels of one of each. */
async function readAlerts(url) {
  const response = await fetch(`${url}/api/v1/alerts`).catch(() => null);
  if (response === null) return new Map();
  const { data } = /** @type {{ data: any }} */ (await response.json());
  return new Map(data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => [labels.alertname, labels]));
}

/** Waits until an alert fires, or ends, while it repeats `pulse`. Returns its labels. */
async function waitForAlert(url, alert, isFiring, pulse = () => sleep(500)) {
  const deadlineMs = performance.now() + alertTimeoutMs;
  for (;;) {
    const alerts = await readAlerts(url);
    if (alerts.has(alert) === isFiring) return alerts.get(alert);
    if (performance.now() > deadlineMs) throw new Error(`${alert} did not ${isFiring ? 'fire' : 'end'}`);
    await pulse();
  }
}

/** Returns functions that call the Platform API as the owner of the demo account, and of another account. */
function createClients({ runtime }) {
  const { base_url: base, demo } = runtime;
  const post = async (path, body, headers = {}) => {
    const response = await fetch(`${base}/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return /** @type {{ data: any }} */ (await response.json()).data;
  };
  const password = 'correct horse battery';
  return {
    logIn: async () => {
      const { access_token: token } = await post('/auth/login', { identifier: demo.email, password: demo.password });
      return (path, body) => post(path, body, { authorization: `Bearer ${token}`, 'x-api-key': demo.api_key });
    },
    register: async (name) => {
      const user = { name, email: `${name}@fleet.example`, password, account_name: name };
      const authorization = `Bearer ${(await post('/auth/register', user)).access_token}`;
      const { key } = await post('/api-keys', { name }, { authorization });
      return (path, body) => post(path, body, { authorization, 'x-api-key': key });
    },
  };
}

const startFleet = async ({ runtime }, firstPhone) => {
  const fleet = new LoadFleet({ ...runtime.jt808, terminals, intervalMs: 1_000, firstPhone, connectRate: 50 });
  fleet.start();
  while (fleet.counters.online < terminals) await sleep(100);
  return fleet;
};

const createTerminal = ({ runtime }, phone) =>
  new SimulatedTerminal({ ...runtime.jt808, phone, channels: 1, reportIntervalMs: 0, respond: () => [] });

/** Starts the terminal of a vehicle. */
async function startVehicle(post, terminal) {
  await post('/vehicles', { vehicle_no: terminal.phone, imei: terminal.phone });
  terminal.start();
  await terminal.waitUntilOnline(60_000);
}

/** Raises an alarm in accounts with several webhooks that no server receives. Returns the terminals. */
async function raiseUndelivered(product, register) {
  const url = `http://127.0.0.1:${await findFreePort()}/`;
  const raise = async (_unused, index) => {
    const post = await register(`drill-${index}`);
    for (let count = 0; count < webhooksPerAccount; count += 1) await post('/user-webhooks', { url });
    const terminal = createTerminal(product, `13900009000${index}`);
    await startVehicle(post, terminal);
    terminal.raiseAlarm(0);
    return terminal;
  };
  return Promise.all(Array.from({ length: accounts }, raise));
}

/** Returns the faults by alert. Each has `pulse`, which is repeated until the alert fires, and `end`. */
function createFaults(product, fleets, { logIn, register }, disk) {
  const signal = (name, signalName) => process.kill(product.runtime.processes[name], signalName);
  /** A process that does not run until the end of the fault. */
  const stopped = (name) => ({
    begin: async () => signal(name, 'SIGSTOP'),
    end: async () => signal(name, 'SIGCONT'),
  });
  /** A process that runs for a tenth of the time. */
  const throttled = (name, stopMs) => ({
    pulse: async () => {
      signal(name, 'SIGSTOP');
      await sleep(stopMs);
      signal(name, 'SIGCONT');
      await sleep(stopMs / 10);
    },
  });
  const silent = createTerminal(product, '139000099999');
  const { base_url: base, demo } = product.runtime;
  let undelivered = [];
  const command = `/realtime/control-stream?imei=${silent.phone}&channel=1&ctrl_instruction=2`;
  return {
    ProcessDown: stopped('webhook-dispatcher'),
    BrokerUnavailable: stopped('nats'),
    ReportsNotStored: stopped('nats'),
    StoreSlow: throttled('nats', 1_800),
    BackendUnavailable: stopped('mongodb'),
    RedisOperationsFail: stopped('redis'),
    // Log-ins need the database.
    HttpErrors: {
      ...stopped('mongodb'),
      pulse: async () => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ identifier: demo.email, password: demo.password });
        await fetch(`${base}/api/auth/login`, { method: 'POST', headers, body }).then((response) => response.text());
      },
    },
    EventLoopSlow: throttled('platform-api', 1_200),
    ProcessRestarts: {
      pulse: async () => {
        signal('webhook-dispatcher', 'SIGKILL');
        await sleep(10_000);
      },
    },
    TerminalsLost: { begin: async () => void (await fleets[1].stop()) },
    CommandsUnanswered: {
      begin: async () => {
        await startVehicle(await logIn(), silent);
      },
      pulse: async () => {
        await fetch(`${base}/api/v1${command}`, { headers: { 'x-api-key': demo.api_key } }).then((response) =>
          response.text(),
        );
      },
      end: async () => silent.stop(),
    },
    WebhooksPaused: {
      begin: async () => {
        undelivered = await raiseUndelivered(product, register);
      },
      end: async () => void (await Promise.all(undelivered.map((terminal) => terminal.stop()))),
    },
    ...createFileFaults(product, { logIn }, disk),
    AuditEntriesLost: createAuditFault(product),
  };
}

/** Causes a fault until its alert fires, ends it, and waits until the alert ends, too. */
async function runFault(url, alert, { begin, pulse, end }) {
  while ((await readAlerts(url)).size > 0) await sleep(500);
  const startedAtMs = performance.now();
  await begin?.();
  try {
    const labels = await waitForAlert(url, alert, true, pulse);
    const firedMs = Math.round(performance.now() - startedAtMs);
    const others = [...(await readAlerts(url)).keys()].filter((name) => name !== alert);
    await end?.();
    await waitForAlert(url, alert, false);
    return { firedMs, endedMs: Math.round(performance.now() - startedAtMs) - firedMs, labels, others };
  } catch (error) {
    await end?.();
    throw error;
  }
}

async function drill(product, folder, disk) {
  const fleets = [await startFleet(product, '139000010000'), await startFleet(product, '139000020000')];
  const prometheus = await startPrometheus(product, folder);
  const faults = createFaults(product, fleets, createClients(product), disk);
  const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(faults);
  // Rates and offsets need a history.
  await sleep(30_000);
  for (const alert of wanted) {
    if (faults[alert] === undefined) {
      console.log(JSON.stringify({ alert, fault: 'no drill on this machine' }));
      continue;
    }
    const result = await runFault(prometheus.url, alert, faults[alert]).catch((error) => ({ fault: error.message }));
    console.log(JSON.stringify({ alert, ...result }));
  }
  await Promise.all(fleets.map((fleet) => fleet.stop()));
  prometheus.stop();
}

const folder = mkdtempSync(join(tmpdir(), 'alert-drill-'));
const dataDir = join(folder, 'data');
const disk = new SmallDisk(dataDir);
const isSmallDisk = disk.mount();
if (!isSmallDisk) console.log('ClipDiskFull needs root, to mount a small disk: left out.');
const { CLIPS_MIN_FREE_BYTES: _needsSmallDisk, ...otherSettings } = settings;
const product = await startProduct({ dataDir, env: isSmallDisk ? settings : otherSettings });
try {
  await drill(product, folder, isSmallDisk ? disk : null);
} finally {
  await product.stop();
  disk.unmount();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
