// npm run test:k8s: validates the manifests with a real API server. Builds the servers on the first run, which takes
// several minutes. Needs Go and, for nothing but its own processes, the loopback interface.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startControlPlane } from './kubernetes/control-plane.mjs';
import { checkManifests } from './kubernetes/dry-run.mjs';
import { Processes } from './kubernetes/processes.mjs';
import { apiServerPrograms, buildServers, collectDefinitions } from './kubernetes/tools.mjs';

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

collectDefinitions();
await buildServers(apiServerPrograms);
const folder = mkdtempSync(join(tmpdir(), 'fleet-kubernetes-'));
const processes = new Processes(join(folder, 'logs'));
try {
  const cluster = await startControlPlane(processes, folder);
  await checkManifests(cluster, check);
} finally {
  await processes.stop();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
