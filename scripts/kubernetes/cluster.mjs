// The product on a cluster of one node: an overlay, the smoke test, network policies, faults under load, and a backup.
import { join } from 'node:path';
import { waitUntil } from '../processes.mjs';
import { runSmokeTest, waitForTerminals } from '../smoke-terminals.mjs';
import { root } from '../steps.mjs';
import { Api } from './api.mjs';
import { backendImages, createBackendImages, hasImage } from './backend-images.mjs';
import { loseBackends } from './backend-loss.mjs';
import { checkBackup } from './backup-check.mjs';
import { startMongoDb } from './host-mongodb.mjs';
import { Load } from './load.mjs';
import { importImages, podGateway, startNode } from './node.mjs';
import { checkPolicies } from './policy-check.mjs';
import { TrialCluster, workloads } from './trial-cluster.mjs';
import { addresses, apiKey, imageTag, owner, services } from './trial-overlay.mjs';

const migrationTimeoutMs = 400_000;

/** Returns a sentence about the images that `npm run images` has not built, or null. */
export function findMissingImages() {
  const missing = services.filter((name) => !hasImage(`localhost/fleet/${name}`));
  return missing.length === 0 ? null : `There is no image of ${missing.join(', ')}: run npm run images.`;
}

/** Starts the reverse proxy of the product on this machine, in front of the services of the cluster. */
async function startProxy(processes, { baseUrl, port }) {
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
    return (await fetch(`${baseUrl}/api/v1/health`)).ok;
  });
}

/** Restarts every workload, one after the other. */
async function restartAll(cluster) {
  for (const name of workloads) {
    const startedAt = performance.now();
    cluster.kubectl(['rollout', 'restart', name]);
    await cluster.waitForRollout(name);
    console.log(`    ${name} restarted in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  }
}

/** Runs a fault under load. Returns what was lost. */
async function runUnderLoad(cluster, run) {
  const load = new Load({
    baseUrl: cluster.baseUrl,
    apiKey,
    owner,
    gateway: addresses['jt808-gateway'],
    nats: { servers: `${cluster.addressOf('nats')}:4222`, ...cluster.trial.natsUser },
    webhookHost: podGateway,
    terminals: Number(process.env['TERMINALS'] ?? 100),
    viewers: Number(process.env['VIEWERS'] ?? 2),
  });
  try {
    await load.start();
    await run(cluster);
  } catch (error) {
    await load.stop();
    throw error;
  }
  const counts = await load.finish();
  console.log(`    ${JSON.stringify(counts)}`);
  return counts;
}

/** Throws if one of the counts is not zero. */
function expectZero(counts) {
  if (counts.some((count) => count > 0)) throw new Error('Something was lost: see the counts.');
}

/**
 * Starts the cluster with the overlay `dev` or `prod`, and runs all checks, each through `check(title, run)`.
 */
export async function checkCluster(processes, folder, controlPlane, { name, check }) {
  createBackendImages(process.env['BASE'] ?? 'localhost/node');
  await startNode(processes, folder, controlPlane);
  const images = [...services.map((service) => `localhost/fleet/${service}`), ...Object.values(backendImages)];
  importImages(folder, images, imageTag);
  if (name === 'prod') await startMongoDb(processes, folder);
  const cluster = new TrialCluster(controlPlane, folder, name);
  await check(`every pod of k8s/overlays/${name} becomes ready`, async () => {
    await cluster.start();
    const isMigrated = () => cluster.get(['job/migrate']).status.succeeded === 1;
    await waitUntil('the migration', isMigrated, { timeoutMs: migrationTimeoutMs });
  });
  await startProxy(processes, cluster);
  const { baseUrl } = cluster;
  await check('the smoke test passes against the cluster', () =>
    runSmokeTest(processes, folder, { baseUrl, gateway: addresses['jt808-gateway'], apiKey }),
  );
  await checkPolicies(cluster, check);
  await check('restarts of every service under load lose no report, command or notification', async () => {
    // Viewers of a stream reconnect after a restart of its pods: docs/operations.md has the figures.
    const { reportsLost, commandsFailed, alarmsLost } = await runUnderLoad(cluster, restartAll);
    expectZero([reportsLost, commandsFailed, alarmsLost]);
  });
  if (name === 'prod')
    await check(
      'the loss of the primary of Redis and of each server of NATS loses no report or notification',
      async () => {
        // Commands fail while another leader is elected.
        const { reportsLost, alarmsLost } = await runUnderLoad(cluster, loseBackends);
        expectZero([reportsLost, alarmsLost]);
      },
    );
  const api = new Api(baseUrl, apiKey);
  await check('the jobs of k8s/components/backup back the product up and restore it', async () => {
    await api.logIn(owner);
    console.log(`    ${JSON.stringify(await checkBackup(cluster, api))}`);
    await waitForTerminals(processes, { baseUrl, apiKey });
  });
}
