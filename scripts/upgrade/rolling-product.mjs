// A product whose processes are replaced one by one by those of another version, as Kubernetes does.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareBackends } from '../../deploy/local/dist/backends/prepare-backends.js';
import { startBackends } from '../../deploy/local/dist/backends/start-backends.js';
import { planPorts } from '../../deploy/local/dist/ports.js';
import { createProgress } from '../../deploy/local/dist/progress.js';
import { Supervisor } from '../../deploy/local/dist/supervisor.js';
import { findFreePort, waitUntil } from '../processes.mjs';
import { root } from '../steps.mjs';
import { Balancer } from './balancer.mjs';
import { Pod } from './pod.mjs';

/** Workloads with an identity: the pod stops before its successor starts. */
const stateful = new Set(['platform-telemetry', 'upload-ftp']);

/** How long each combination of versions runs. */
const combinationMs = 3_000;

/** Ports that have one address for all pods, by the workload that serves them. */
const balanced = {
  'jt808-gateway': 'jt808',
  'jt1078-media': 'mediaLive',
  'device-api': 'deviceApi',
  'platform-api': 'platformApi',
};

/** Settings of a measurement. */
const settings = {
  LOG_LEVEL: 'info',
  // A folder of a version is built without the dashboard.
  DASHBOARD_DIR: '',
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  RATE_LIMIT_READS_PER_SECOND: '100000',
  RATE_LIMIT_READS_BURST: '100000',
  RATE_LIMIT_COMMANDS_PER_MINUTE: '100000',
  RATE_LIMIT_COMMANDS_BURST: '100000',
  RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
  RATE_LIMIT_PLATFORM_BURST: '100000',
};

/** Returns unused ports by the names that a start has. */
async function findPorts() {
  const ports = planPorts(0);
  for (const name of Object.keys(ports)) ports[name] = await findFreePort();
  // No file is uploaded, so the passive range may be short.
  return { ...ports, ftpPasvMax: ports.ftpPasvMin };
}

/** A product with a version of each workload. */
export class RollingProduct {
  #folder;
  #supervisor = new Supervisor({ report: (line) => console.log(line) });
  /** @type {Record<string, Balancer>} */
  #balancers = {};
  /** @type {Map<string, Pod>} */
  #pods = new Map();
  #urls;
  #proxyPort = 0;
  #started = 0;

  /** @param {string} folder receives all data and logs */
  constructor(folder) {
    this.#folder = folder;
    mkdirSync(join(folder, 'logs'), { recursive: true });
  }

  get baseUrl() {
    return `http://127.0.0.1:${this.#proxyPort}`;
  }

  get natsUrl() {
    return this.#urls.NATS_URL;
  }

  get gatewayPort() {
    return this.#balancers['jt808-gateway'].port;
  }

  /** Starts the backends and all workloads of a version. Returns the owner of the demo account. */
  async start(version) {
    await this.#startBackends();
    for (const name of Object.keys(balanced)) this.#balancers[name] = await Balancer.open();
    this.#proxyPort = await findFreePort();
    await this.migrate(version);
    for (const name of await this.#listWorkloads(version)) await this.#startPod(name, version);
    await this.#startProxy();
    return this.#readOwner(version);
  }

  /** Runs the migrations of a version, as the job `migrate` does. */
  async migrate(version) {
    const { env } = await this.#createSpec('platform-api', version);
    const script = join(version, 'services', 'platform-api', 'dist', 'migrate.js');
    const { status, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`The migration failed: ${stderr}`);
  }

  /** Replaces all workloads by those of a version, one after the other. Returns how long each took. */
  async replaceAll(version, { isReversed = false } = {}) {
    const names = await this.#listWorkloads(version);
    const durations = {};
    for (const name of isReversed ? names.toReversed() : names) {
      const startedAtMs = performance.now();
      await this.#replace(name, version);
      durations[name] = Number(((performance.now() - startedAtMs) / 1_000).toFixed(1));
      await sleep(combinationMs);
    }
    return durations;
  }

  async stop() {
    await Promise.all([...this.#pods.values()].map((pod) => pod.drain().catch(() => pod.kill())));
    for (const balancer of Object.values(this.#balancers)) balancer.close();
    await this.#supervisor.stop();
  }

  async #replace(name, version) {
    const former = this.#pods.get(name);
    if (stateful.has(name)) await former?.drain();
    await this.#startPod(name, version);
    if (!stateful.has(name)) await former?.drain();
  }

  async #startPod(name, version) {
    const spec = await this.#createSpec(name, version);
    this.#pods.set(name, await Pod.start(spec));
    const balancer = this.#balancers[name];
    if (balancer !== undefined) balancer.targetPort = spec.ports[balanced[name]];
  }

  /** Returns what starts a process of a version: its own launcher states the settings. */
  async #createSpec(name, version) {
    const own = await findPorts();
    const media = name === 'jt1078-media' ? own.mediaLive : this.#balancers['jt1078-media'].port;
    const ports = { ...own, proxy: this.#proxyPort, mediaLive: media };
    const { serviceSpecs } = await import(join(version, 'deploy', 'local', 'dist', 'services.js'));
    const spec = serviceSpecs(await this.#createContext(version, ports)).find((each) => each.name === name);
    this.#started += 1;
    // A pod of a StatefulSet has a fixed name.
    const env = stateful.has(name) ? spec.env : { ...spec.env, POD_ID: `${name}-${this.#started}` };
    return { ...spec, env, ports, logFile: join(this.#folder, 'logs', `${name}-${this.#started}.log`) };
  }

  async #createContext(version, ports) {
    const { loadSecrets } = await import(join(version, 'deploy', 'local', 'dist', 'secrets.js'));
    const env = { ...process.env, ...settings };
    const cacheDir = join(this.#folder, 'cache');
    const options = { dataDir: this.#folder, cacheDir, host: '127.0.0.1', portOffset: 0, simulator: false, env };
    const logDir = join(this.#folder, 'logs');
    return { options, ports, secrets: loadSecrets(this.#folder), urls: this.#urls, logDir };
  }

  async #listWorkloads(version) {
    const { planServices } = await import(join(version, 'deploy', 'local', 'dist', 'service-plans.js'));
    return planServices(await this.#createContext(version, planPorts(0))).map(({ name }) => name);
  }

  async #readOwner(version) {
    const { secrets } = await this.#createContext(version, planPorts(0));
    const { demoEmail } = await import(join(version, 'deploy', 'local', 'dist', 'service-plans.js'));
    return { apiKey: secrets.demoApiKey, owner: { email: demoEmail, password: secrets.demoPassword } };
  }

  async #startBackends() {
    const logDir = join(this.#folder, 'logs');
    const progress = createProgress((text) => process.stdout.write(text));
    const { NATS_URL: _nats, REDIS_URL: _redis, MONGODB_URL: _mongodb, ...env } = process.env;
    const prepared = await prepareBackends({ env, cacheDir: join(root, '.cache'), logDir, progress });
    const ports = await findPorts();
    const options = { supervisor: this.#supervisor, prepared, ports, dataDir: this.#folder, logDir };
    this.#urls = await startBackends(options);
  }

  /** Starts the reverse proxy of this checkout, which stands for the ingress. */
  async #startProxy() {
    const isReady = async () => (await fetch(`${this.baseUrl}/api/v1/health`)).ok;
    const env = {
      ...process.env,
      HOST: '127.0.0.1',
      HTTP_PORT: String(this.#proxyPort),
      DEVICE_API_URL: `http://127.0.0.1:${this.#balancers['device-api'].port}`,
      PLATFORM_API_URL: `http://127.0.0.1:${this.#balancers['platform-api'].port}`,
    };
    const script = join(root, 'deploy', 'local', 'dist', 'proxy-main.js');
    const logFile = join(this.#folder, 'logs', 'proxy.log');
    const spec = { name: 'proxy', tier: 2, command: process.execPath, args: [script], env, logFile };
    await this.#supervisor.start([{ ...spec, isReady: () => isReady().catch(() => false), readyTimeoutMs: 60_000 }]);
    await waitUntil('the health of the product', isReady);
  }
}
