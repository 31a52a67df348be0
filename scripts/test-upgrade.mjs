// npm run test:upgrade -- REVISION: starts the product of an older revision with terminals, streams, commands and webhooks.
// Replaces every process by one of this checkout, and back, and counts what is lost. Settings: TERMINALS (20), VIEWERS (2),
// KEEP_LOGS=1.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
const { root } = await import('./steps.mjs');

const [revision, ...rest] = process.argv.slice(2);
if (revision === undefined || rest.length > 0) {
  console.error('Usage: npm run test:upgrade -- REVISION, a commit or tag of an older release.');
  process.exit(2);
}
await prepare();
const { buildRevision } = await import('./upgrade/revision.mjs');
const { RollingProduct } = await import('./upgrade/rolling-product.mjs');
const { Load } = await import('./kubernetes/load.mjs');

/** Replaces all processes under load, and back. Returns the counts of the load. */
async function replaceUnderLoad(product, load, former) {
  await load.start();
  await product.migrate(root);
  console.log(`upgraded, seconds by process: ${JSON.stringify(await product.replaceAll(root))}`);
  await product.migrate(former);
  const durations = await product.replaceAll(former, { isReversed: true });
  console.log(`rolled back, seconds by process: ${JSON.stringify(durations)}`);
  return load.finish();
}

/** Returns what an upgrade must not do, one line each. */
function findLosses({ reportsLost, commandsFailed, commands, alarmsLost, streamStops, streams, streamEnds }) {
  // Each of the two replacements of device-api ends the responses of its viewers, who connect again.
  const surplusEnds = streamEnds - 2 * streams;
  return [
    reportsLost > 0 && `${reportsLost} acknowledged reports lost`,
    commandsFailed > 0 && `${commandsFailed} commands failed: ${JSON.stringify(commands)}`,
    alarmsLost > 0 && `${alarmsLost} notifications lost`,
    streamStops > 0 && `${streamStops} live streams ended`,
    surplusEnds > 0 && `${surplusEnds} responses to viewers ended besides those of device-api`,
  ].filter((line) => typeof line === 'string');
}

const folder = mkdtempSync(join(tmpdir(), 'fleet-upgrade-'));
const former = await buildRevision(revision);
const product = new RollingProduct(folder);
let load;
try {
  const { apiKey, owner } = await product.start(former);
  load = new Load({
    baseUrl: product.baseUrl,
    apiKey,
    owner,
    gateway: '127.0.0.1',
    gatewayPort: product.gatewayPort,
    nats: { servers: product.natsUrl },
    webhookHost: '127.0.0.1',
    terminals: Number(process.env['TERMINALS'] ?? 20),
    viewers: Number(process.env['VIEWERS'] ?? 2),
  });
  const counts = await replaceUnderLoad(product, load, former);
  console.log(JSON.stringify(counts));
  const losses = findLosses(counts);
  for (const line of losses) console.error(line);
  process.exitCode = losses.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error.message);
  await load?.stop();
  process.exitCode = 1;
} finally {
  await product.stop();
  if (process.env['KEEP_LOGS'] === '1') console.log(`logs: ${join(folder, 'logs')}`);
  else rmSync(folder, { recursive: true, force: true });
}
process.exit();
