// A backup by the job of k8s/components/backup, and its restore by the steps of docs/operations.md.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../processes.mjs';
import { root } from '../steps.mjs';
import { jobImage } from './trial-overlay.mjs';

const stopTimeoutMs = 300_000;

/** Lists whose lengths a restore must bring back. */
const lists = ['/api/vehicles', '/api/user-webhooks', '/api/notifications', '/api/users', '/api/api-keys'];

/** Returns the number of records of each list. */
async function countRecords(api) {
  const counts = {};
  for (const path of lists) {
    const { status, body } = await api.send('GET', `${path}?limit=1`);
    if (status !== 200) throw new Error(`${path} responded with ${status}: ${JSON.stringify(body)}`);
    counts[path] = body.meta.pagination.total;
  }
  return counts;
}

/** Deletes one vehicle and all webhooks. */
async function loseRecords(api) {
  const { body: webhooks } = await api.send('GET', '/api/user-webhooks');
  const { body: vehicles } = await api.send('GET', '/api/vehicles?limit=1');
  const paths = [
    ...webhooks.data.map(({ id }) => `/api/user-webhooks/${id}`),
    ...vehicles.data.map(({ id }) => `/api/vehicles/${id}`),
  ];
  for (const path of paths) {
    const { status } = await api.send('DELETE', path);
    if (status >= 300) throw new Error(`DELETE ${path} responded with ${status}.`);
  }
}

/** Replaces a value of a manifest, which must contain it. */
function replaceIn(manifest, value, replacement) {
  if (!manifest.includes(value)) throw new Error(`The manifest does not contain ${value}.`);
  return manifest.replace(value, replacement);
}

/** Returns the manifest of the restore with the values of an overlay. */
function buildRestoreJob(streamReplicas) {
  const manifest = readFileSync(join(root, 'k8s', 'components', 'backup', 'restore.yaml'), 'utf8');
  const changes = [
    ['image: fleet/platform-api', `image: ${jobImage}`],
    ['name: JETSTREAM_REPLICAS, value: "3"', `name: JETSTREAM_REPLICAS, value: "${streamReplicas}"`],
    ['args: []', 'args: [--replace]'],
  ];
  return changes.reduce((text, [value, replacement]) => replaceIn(text, value, replacement), manifest);
}

/** Stops all services, and waits for the end of their pods. */
async function stopServices(cluster) {
  const all = ['-l', 'app.kubernetes.io/part-of=fleet'];
  cluster.kubectl(['scale', 'deployment,statefulset', ...all, '--replicas=0']);
  const hasStopped = () => cluster.get(['pods', ...all, '--field-selector=status.phase=Running']).items.length === 0;
  await waitUntil('the stop of all services', hasStopped, { timeoutMs: stopTimeoutMs, intervalMs: 1_000 });
}

/** Starts the services again. An overlay with autoscalers does not have the replicas of all workloads. */
async function startServices(cluster) {
  cluster.kubectl(['scale', 'deployment', '-l', 'app.kubernetes.io/part-of=fleet', '--replicas=1']);
  await cluster.start();
}

/** Backs the product up, deletes records, and restores them. Returns the counts and the last line of both jobs. */
export async function checkBackup(cluster, api) {
  const before = await countRecords(api);
  cluster.kubectl(['create', 'job', 'backup-now', '--from=cronjob/backup']);
  const backedUp = await cluster.waitForJob('backup-now');
  await loseRecords(api);
  const lost = await countRecords(api);
  if (lost['/api/vehicles'] >= before['/api/vehicles']) throw new Error('No vehicle was deleted.');
  await stopServices(cluster);
  cluster.kubectl(['apply', '-f', '-'], { input: buildRestoreJob(cluster.trial.streamReplicas) });
  const restored = await cluster.waitForJob('restore');
  await startServices(cluster);
  const after = await countRecords(api);
  for (const path of lists)
    if (after[path] < before[path]) throw new Error(`${path} has ${after[path]} records instead of ${before[path]}.`);
  return { records: after, jobs: [backedUp, restored].map((log) => log.trimEnd().split('\n').at(-1)) };
}
