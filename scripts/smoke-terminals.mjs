// The smoke test against a product that another tool has started: two simulated vehicles, and `npm run smoke`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from './processes.mjs';
import { root } from './steps.mjs';

/** Numbers of the terminals, whose vehicles must exist. */
export const smokeTerminals = ['138001000001', '138001000002'];

/** Waits until the terminals are online. */
export async function waitForTerminals(processes, { baseUrl, apiKey }) {
  const headers = { 'x-api-key': apiKey };
  for (const imei of smokeTerminals)
    await waitUntil(`the connection of ${imei}`, async () => {
      processes.check();
      return (await fetch(`${baseUrl}/api/v1/health/device?imei=${imei}`, { headers })).ok;
    });
}

/**
 * Starts the terminals, and runs the smoke test. Throws with its output if it fails.
 * @param {import('./processes.mjs').Processes} processes
 * @param {string} folder
 * @param {{ baseUrl: string, gateway: string, apiKey: string }} product `gateway` is the host that terminals connect to
 */
export async function runSmokeTest(processes, folder, { baseUrl, gateway, apiKey }) {
  const dataDir = join(folder, 'smoke');
  const report = join(dataDir, 'fleet.json');
  mkdirSync(dataDir, { recursive: true });
  const fleet = ['--phones', smokeTerminals.join(','), '--channels', '2', '--report-file', report];
  const cli = join(root, 'libs', 'terminal-simulator', 'dist', 'cli.js');
  const server = ['--host', gateway, '--port', '7808'];
  processes.start('smoke-terminals', process.execPath, [cli, 'fleet', ...server, ...fleet]);
  await waitForTerminals(processes, { baseUrl, apiKey });
  await waitUntil('the report of the terminals', () => existsSync(report));
  const runtime = {
    base_url: baseUrl,
    demo: { api_key: apiKey },
    simulated_terminals: JSON.parse(readFileSync(report, 'utf8')),
  };
  writeFileSync(join(dataDir, 'runtime.json'), JSON.stringify(runtime));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/smoke.mjs'], {
    cwd: root,
    env: { ...process.env, DATA_DIR: dataDir },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
}
