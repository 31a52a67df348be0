// The network policies of k8s, enforced by kube-router: connections from pods that a policy allows, and from others.
import { waitUntil } from '../processes.mjs';
import { podGateway } from './node.mjs';
import { jobImage } from './trial-overlay.mjs';

const services = {
  gateway: ['jt808-gateway', 7808],
  deviceApi: ['device-api', 8083],
  platformApi: ['platform-api', 8082],
  admin: ['platform-api', 9090],
  media: ['jt1078-media', 8085],
  files: ['upload-ftp', 8086],
  nats: ['nats', 4222],
  redis: ['redis', 6379],
  mongodb: ['mongodb', 27017],
};
const backends = ['nats', 'redis', 'mongodb'];

/** Namespaces with one pod each, which is not one of the product. */
const visitors = [
  { namespace: 'ingress', labels: { 'fleet/role': 'ingress' }, reaches: ['gateway', 'deviceApi', 'platformApi'] },
  { namespace: 'monitoring', labels: { 'fleet/role': 'monitoring' }, reaches: ['gateway', 'admin'] },
  { namespace: 'other', labels: {}, reaches: ['gateway'] },
];

/** What each service reaches: each refused address is one that another pod reaches. */
const members = [
  { service: 'jt808-gateway', reaches: backends },
  { service: 'jt1078-media', reaches: backends },
  { service: 'webhook-dispatcher', reaches: backends },
  { service: 'device-api', reaches: [...backends, 'media', 'files'] },
  { service: 'platform-api', reaches: [...backends, 'media', 'files'] },
  { service: 'platform-telemetry', reaches: backends },
  { service: 'upload-ftp', reaches: [...backends, 'media'] },
];

/** Connects to each address, and prints those that accept. */
const probe = `
  const { connect } = require('node:net');
  const tryOne = ([name, host, port]) => new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (result) => { socket.destroy(); resolve(result); };
    socket.on('connect', () => end(name)).on('timeout', () => end(null)).on('error', () => end(null));
  });
  Promise.all(JSON.parse(process.argv[1]).map(tryOne)).then((names) => console.log(names.filter(Boolean).join()));
`;

/** Creates the namespaces of the visitors, each with a pod that waits. */
async function createVisitors(cluster) {
  for (const { namespace, labels } of visitors) {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'visitor', namespace },
      spec: {
        automountServiceAccountToken: false,
        containers: [{ name: 'visitor', image: jobImage, command: ['sleep', 'infinity'] }],
      },
    };
    const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } }, pod];
    const input = objects.map((each) => JSON.stringify(each)).join('\n---\n');
    cluster.kubectl(['apply', '-f', '-'], { namespace, input });
  }
  for (const { namespace } of visitors)
    await waitUntil(
      `the pod of ${namespace}`,
      () => cluster.get(['pod/visitor'], { namespace }).status.phase === 'Running',
    );
}

/** Waits until a pod reaches exactly these addresses: the rules of a new pod take moments. */
async function expectReached(cluster, { namespace, pod, container, addresses, reaches }) {
  const toText = (names) => [...names].sort((a, b) => a.localeCompare(b)).join();
  const expected = toText(reaches);
  let reached = '';
  const isAsExpected = () => {
    const command = ['node', '-e', probe, JSON.stringify(addresses)];
    const output = cluster.kubectl(['exec', pod, '-c', container, '--', ...command], { namespace });
    reached = toText(output.trim().split(','));
    return reached === expected;
  };
  await waitUntil('the expected connections', isAsExpected, { timeoutMs: 30_000, intervalMs: 1_000 }).catch(() => {
    throw new Error(`${namespace}/${pod} reaches ${reached || 'nothing'} instead of ${expected}.`);
  });
}

/** Runs all checks, each through `check(title, run)`. */
export async function checkPolicies(cluster, check) {
  await createVisitors(cluster);
  const hostOf = (workload) =>
    workload === 'mongodb' && !cluster.trial.backends.includes(workload)
      ? podGateway
      : cluster.findPod(workload).status.podIP;
  const addresses = Object.entries(services).map(([name, [workload, port]]) => [name, hostOf(workload), port]);
  // A database outside the cluster is protected by its own network.
  const ofPods = addresses.filter(([, host]) => host !== podGateway);
  for (const { namespace, reaches } of visitors)
    await check(`a pod of the namespace ${namespace} reaches ${reaches.join(', ')} only`, () =>
      expectReached(cluster, { namespace, pod: 'visitor', container: 'visitor', addresses: ofPods, reaches }),
    );
  for (const { service, reaches } of members)
    await check(`${service} reaches ${reaches.join(', ')} only`, () => {
      const { metadata, status } = cluster.findPod(service);
      // No policy applies to the connections of a pod to itself.
      const others = addresses.filter(([, host]) => host !== status.podIP);
      const from = { namespace: 'fleet', pod: metadata.name, container: 'service' };
      return expectReached(cluster, { ...from, addresses: others, reaches });
    });
}
