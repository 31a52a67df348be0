// npm run test:k8s: validates the manifests with a real API server. Builds the servers on the first run, which takes
// several minutes and needs Go. `-- cluster` also starts a node on this machine with the overlay `dev` and the images of
// `npm run images`, and restarts every service under load; `-- cluster prod` does so with the overlay `prod`. It needs root,
// containerd and the network plugins. Settings: TERMINALS (100), VIEWERS (2), BASE (base of the images).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkCluster, findMissingImages } from './kubernetes/cluster.mjs';
import { startControlPlane } from './kubernetes/control-plane.mjs';
import { checkManifests } from './kubernetes/dry-run.mjs';
import { findMissing, removeNode } from './kubernetes/node.mjs';
import { apiServerPrograms, buildServers, collectDefinitions, nodePrograms } from './kubernetes/tools.mjs';
import { Processes } from './processes.mjs';

let passed = 0;
let failed = 0;

/** Runs a check and prints its result. */
async function check(title, run) {
  try {
    await run();
    passed += 1;
    console.log(`  passed: ${title}`);
  } catch (error) {
    failed += 1;
    console.log(`  FAILED: ${title}\n${error.message.replace(/^/gm, '    ')}`);
  }
}

const [mode, overlay = 'dev', ...more] = process.argv.slice(2);
const isWithCluster = mode === 'cluster';
if ((mode !== undefined && !isWithCluster) || (overlay !== 'dev' && overlay !== 'prod') || more.length > 0) {
  console.error('Usage: npm run test:k8s [-- cluster [dev | prod]]');
  process.exit(1);
}
const missing = isWithCluster ? (findMissing() ?? findMissingImages()) : null;
if (missing !== null) {
  console.error(`${missing} A node cannot run on this machine.`);
  process.exit(1);
}
collectDefinitions();
await buildServers(isWithCluster ? [...apiServerPrograms, ...nodePrograms] : apiServerPrograms);
const folder = mkdtempSync(join(tmpdir(), 'fleet-kubernetes-'));
const processes = new Processes(join(folder, 'logs'));
async function cleanUp() {
  await processes.stop();
  if (isWithCluster) removeNode(folder);
  rmSync(folder, { recursive: true, force: true });
}
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    void cleanUp().finally(() => process.exit(1));
  });
try {
  const cluster = await startControlPlane(processes, folder);
  await checkManifests(cluster, check);
  if (isWithCluster) await checkCluster(processes, folder, cluster, { name: overlay, check });
} finally {
  await cleanUp();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
