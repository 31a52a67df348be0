// The product on a cluster of one node: the overlay `dev`, the smoke test, and restarts of every service under load.
import { join } from 'node:path';
import { findFreePort, waitUntil } from '../processes.mjs';
import { runSmokeTest, smokeTerminals } from '../smoke-terminals.mjs';
import { root } from '../steps.mjs';
import { backendImages, createBackendImages, hasImage } from './backend-images.mjs';
import { requireKubectl } from './control-plane.mjs';
import { Load } from './load.mjs';
import { importImages, startNode } from './node.mjs';
import { addresses, apiKey, owner, webhookHost, writeTrialOverlay } from './trial-overlay.mjs';

const images = ['jt808-gateway', 'jt1078-media', 'device-api', 'platform-api', 'upload-ftp', 'webhook-dispatcher'];
const workloads = [
  'deployment/jt808-gateway',
  'deployment/device-api',
  'deployment/platform-api',
  'deployment/webhook-dispatcher',
  'deployment/jt1078-media',
  'statefulset/platform-telemetry',
  'statefulset/upload-ftp',
];
const backends = ['statefulset/nats', 'statefulset/redis', 'statefulset/mongodb'];
const rolloutTimeoutMs = 400_000;

const inNamespace = (cluster, ...args) => requireKubectl(cluster, ['-n', 'fleet', ...args]);

/** Returns a sentence about the images that `npm run images` has not built, or null. */
export function findMissingImages() {
  const missing = images.filter((name) => !hasImage(`localhost/fleet/${name}`));
  return missing.length === 0 ? null : `There is no image of ${missing.join(', ')}: run npm run images.`;
}

/** Starts the reverse proxy of the product on this machine, in front of the services of the cluster. */
async function startProxy(processes, port) {
  const env = {
    ...process.env,
    HOST: '127.0.0.1',
    HTTP_PORT: String(port),
    DEVICE_API_URL: `http://${addresses['device-api']}:8083`,
    PLATFORM_API_URL: `http://${addresses['platform-api']}:8082`,
  };
  processes.start('proxy', process.execPath, [join(root, 'deploy', 'local', 'dist', 'proxy-main.js')], { env });
  await waitUntil('the health of the product', async () => {
    processes.check();
    return (await fetch(`http://127.0.0.1:${port}/api/v1/health`)).ok;
  });
}

/** Returns the address of a Service of the cluster. */
const addressOf = (cluster, service) =>
  inNamespace(cluster, 'get', 'service', service, '-o', 'jsonpath={.spec.clusterIP}');

/** Restarts every workload, one after the other. */
async function restartAll(cluster) {
  for (const name of workloads) {
    const startedAt = performance.now();
    inNamespace(cluster, 'rollout', 'restart', name);
    await waitForRollout(cluster, name);
    console.log(`    ${name} restarted in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  }
}

/** Returns whether all pods of a workload are of its newest revision and ready. */
function isComplete(cluster, name) {
  const { metadata, spec, status } = JSON.parse(inNamespace(cluster, 'get', name, '-o', 'json'));
  if (status.observedGeneration !== metadata.generation) return false;
  return [status.updatedReplicas, status.readyReplicas, status.replicas].every((count) => count === spec.replicas);
}

/** Waits until `isComplete`. kubectl would block this process, in which the load runs. */
const waitForRollout = (cluster, name) =>
  waitUntil(`the rollout of ${name}`, () => isComplete(cluster, name), {
    timeoutMs: rolloutTimeoutMs,
    intervalMs: 2_000,
  });

/** Starts the cluster with the product, and runs all checks, each through `check(title, run)`. */
export async function checkCluster(processes, folder, cluster, check) {
  createBackendImages(process.env['BASE'] ?? 'localhost/node');
  await startNode(processes, folder, cluster);
  importImages(
    folder,
    [...images.map((name) => `localhost/fleet/${name}`), ...Object.values(backendImages)].map(
      (name) => `${name}:latest`,
    ),
  );
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  await check('every pod of k8s/overlays/dev becomes ready', async () => {
    const replicas = { 'jt1078-media': 2, 'platform-telemetry': 2 };
    const overlay = writeTrialOverlay(folder, { terminals: smokeTerminals, replicas, baseUrl });
    requireKubectl(cluster, ['apply', '--server-side', '--force-conflicts', '-k', overlay]);
    for (const name of [...backends, ...workloads]) await waitForRollout(cluster, name);
    const isMigrated = () => inNamespace(cluster, 'get', 'job/migrate', '-o', 'jsonpath={.status.succeeded}') === '1';
    await waitUntil('the migration', isMigrated, { timeoutMs: rolloutTimeoutMs });
  });
  await startProxy(processes, port);
  await check('the smoke test passes against the cluster', () =>
    runSmokeTest(processes, folder, { baseUrl, gateway: addresses['jt808-gateway'], apiKey }),
  );
  const load = new Load({
    baseUrl,
    apiKey,
    owner,
    gateway: addresses['jt808-gateway'],
    natsUrl: `${addressOf(cluster, 'nats')}:4222`,
    webhookHost,
    terminals: Number(process.env['TERMINALS'] ?? 100),
    viewers: Number(process.env['VIEWERS'] ?? 2),
  });
  await check('restarts of every service under load lose no report, command or notification', async () => {
    try {
      await load.start();
      await restartAll(cluster);
    } catch (error) {
      await load.stop();
      throw error;
    }
    const counts = await load.finish();
    console.log(`    ${JSON.stringify(counts)}`);
    // Viewers of a stream reconnect after a restart of its pods: docs/operations.md has the figures.
    const { reportsLost, commandsFailed, alarmsLost } = counts;
    if (reportsLost + commandsFailed + alarmsLost > 0) throw new Error('Something was lost: see the counts.');
  });
}
