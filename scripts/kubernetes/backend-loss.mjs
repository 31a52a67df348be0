// The loss of any one pod of the backends in the overlay `prod`.
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../processes.mjs';
import { nodeName } from './node.mjs';

/** Time for which a server of NATS is lost: the others elect leaders within it. */
const lossMs = 10_000;

/** Returns the pod of the primary that the sentinel of a pod knows. */
function findRedisPrimary(cluster, pod = 'redis-0') {
  const question = ['redis-cli', '-p', '26379', '--raw', 'sentinel', 'get-master-addr-by-name', 'fleet'];
  const [host = ''] = cluster.kubectl(['exec', pod, '-c', 'sentinel', '--', ...question]).split('\n');
  return host.split('.')[0];
}

/** Deletes a pod as if its node were lost: its successor starts only after `isNoticed`. */
async function losePod(cluster, { workload, pod, isNoticed }) {
  const startedAt = performance.now();
  const secondsSince = () => ((performance.now() - startedAt) / 1_000).toFixed(0);
  cluster.kubectl(['cordon', nodeName]);
  try {
    cluster.kubectl(['delete', `pod/${pod}`, '--grace-period=0', '--force', '--wait=false']);
    await isNoticed();
  } finally {
    cluster.kubectl(['uncordon', nodeName]);
  }
  const noticed = secondsSince();
  await cluster.waitForRollout(workload);
  console.log(`    ${pod} was lost for ${noticed} s, and replaced after ${secondsSince()} s`);
}

/** Loses the primary of Redis, and each server of NATS, one after the other. */
export async function loseBackends(cluster) {
  const primary = findRedisPrimary(cluster);
  const watcher = ['redis-0', 'redis-1'].find((pod) => pod !== primary) ?? '';
  const hasOther = () => findRedisPrimary(cluster, watcher) !== primary;
  await losePod(cluster, {
    workload: 'statefulset/redis',
    pod: primary,
    isNoticed: () => waitUntil('the election of another primary of Redis', hasOther),
  });
  for (const pod of ['nats-0', 'nats-1', 'nats-2'])
    await losePod(cluster, { workload: 'statefulset/nats', pod, isNoticed: () => sleep(lossMs) });
}
