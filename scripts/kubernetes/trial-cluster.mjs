// A cluster of one node with an overlay of the product.
import { findFreePort, waitUntil } from '../processes.mjs';
import { smokeTerminals } from '../smoke-terminals.mjs';
import { requireKubectl } from './control-plane.mjs';
import { trials, writeTrialOverlay } from './trial-overlay.mjs';

const rolloutTimeoutMs = 400_000;

/** Workloads of the product, in the order in which a test restarts them. */
export const workloads = [
  'deployment/jt808-gateway',
  'deployment/device-api',
  'deployment/platform-api',
  'deployment/webhook-dispatcher',
  'deployment/jt1078-media',
  'statefulset/platform-telemetry',
  'statefulset/upload-ftp',
];

/** Returns whether all pods of a workload are of its newest revision and ready. */
function isComplete({ metadata, spec, status }) {
  if (status.observedGeneration !== metadata.generation) return false;
  return [status.updatedReplicas, status.readyReplicas, status.replicas].every((count) => count === spec.replicas);
}

/** Starts the overlay, and controls it with kubectl. */
export class TrialCluster {
  baseUrl = '';
  /** Port of the reverse proxy, which this machine runs. */
  port = 0;
  /** What the overlay needs. */
  trial;
  #cluster;
  #folder;
  #name;

  /**
   * @param {{ kubectl: Function }} cluster
   * @param {string} folder
   * @param {keyof typeof trials} name
   */
  constructor(cluster, folder, name) {
    this.trial = trials[name];
    this.#cluster = cluster;
    this.#folder = folder;
    this.#name = name;
  }

  /** Runs kubectl in the namespace of the product, or in another one. Returns its output. */
  kubectl(args, { namespace = 'fleet', input = '' } = {}) {
    return requireKubectl(this.#cluster, ['-n', namespace, ...args], input);
  }

  /** @returns {any} the object or list that kubectl gets */
  get(args, options) {
    return JSON.parse(this.kubectl(['get', ...args, '-o', 'json'], options));
  }

  /** Applies the overlay, and waits until all pods are ready. */
  async start() {
    this.port ||= await findFreePort();
    this.baseUrl = `http://127.0.0.1:${this.port}`;
    const options = { name: this.#name, terminals: smokeTerminals, baseUrl: this.baseUrl };
    const overlay = writeTrialOverlay(this.#folder, options);
    this.kubectl(['apply', '--server-side', '--force-conflicts', '-k', overlay]);
    for (const name of this.trial.backends) await this.waitForRollout(`statefulset/${name}`);
    for (const name of workloads) await this.waitForRollout(name);
  }

  /** Waits until all pods of a workload are ready. kubectl would block this process, in which the load runs. */
  waitForRollout(name) {
    return waitUntil(`the rollout of ${name}`, () => isComplete(this.get([name])), {
      timeoutMs: rolloutTimeoutMs,
      intervalMs: 2_000,
    });
  }

  /** Waits until a job has succeeded. Throws with its log if it fails. Returns the log. */
  async waitForJob(name) {
    let isFailed = false;
    const hasEnded = () => {
      const { succeeded, failed = 0 } = this.get([`job/${name}`]).status;
      isFailed = failed > 0;
      return isFailed || succeeded === 1;
    };
    await waitUntil(`the end of the job ${name}`, hasEnded, { timeoutMs: rolloutTimeoutMs, intervalMs: 1_000 });
    const log = this.kubectl(['logs', `job/${name}`]);
    if (isFailed) throw new Error(`The job ${name} failed:\n${log}`);
    return log;
  }

  /** Returns a running pod of a workload. */
  findPod(name) {
    const { items } = this.get(['pods', '--field-selector=status.phase=Running']);
    const found = items.find(
      ({ metadata }) => metadata.name.startsWith(`${name}-`) && metadata.deletionTimestamp === undefined,
    );
    if (found === undefined) throw new Error(`No pod of ${name} runs.`);
    return found;
  }

  /** Returns the address of a Service. */
  addressOf(service) {
    return this.get(['service', service]).spec.clusterIP;
  }
}
