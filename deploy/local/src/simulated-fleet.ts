import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonIfExists } from './atomic-file.ts';
import { repoRoot } from './paths.ts';
import type { SimulatedTerminal } from './runtime-file.ts';
import { demoTerminals } from './service-plans.ts';
import { respondsOk } from './services.ts';
import { StartError } from './start-error.ts';
import type { ProcessSpec } from './supervised-process.ts';

interface FleetContext {
  dataDir: string;
  logDir: string;
  env: NodeJS.ProcessEnv;
  ffmpeg: string;
  host: string;
  jt808Port: number;
  /** Port of the fleet's control server on loopback. */
  controlPort: number;
  /** Base of the Device API, which reports whether a terminal is connected. */
  deviceApiUrl: string;
}

const simulatorTier = 3;
const readyTimeoutMs = 90_000;
const pollIntervalMs = 1_000;
const script = join(repoRoot, 'libs', 'terminal-simulator', 'dist', 'cli.js');

const reportPath = (dataDir: string): string => join(dataDir, 'simulated-fleet.json');

/** Returns the terminals that the simulator runs; undefined until it has published them. */
export function readFleet(dataDir: string): SimulatedTerminal[] | undefined {
  const value = readJsonIfExists(reportPath(dataDir));
  return Array.isArray(value) ? (value as SimulatedTerminal[]) : undefined;
}

/**
 * Polls each terminal until it is connected, at most once per second, because the requests count against the caller's
 * limit.
 */
function createFleetProbe(context: FleetContext): () => Promise<boolean> {
  const connected = new Set<string>();
  let nextPollAt = 0;
  return async () => {
    const fleet = readFleet(context.dataDir);
    if (fleet === undefined || fleet.length === 0 || performance.now() < nextPollAt) return false;
    nextPollAt = performance.now() + pollIntervalMs;
    for (const { imei } of fleet) {
      if (connected.has(imei)) continue;
      if (await respondsOk(`${context.deviceApiUrl}/api/v1/health/device?imei=${imei}`)) connected.add(imei);
    }
    return connected.size === fleet.length;
  };
}

/**
 * Returns the specification of three vehicles with two cameras each, ready when the Device API reports all of them as
 * connected.
 */
export function simulatedFleetSpec(context: FleetContext): ProcessSpec {
  if (!existsSync(script)) {
    throw new StartError(
      'The terminal simulator is not built: run npm run build, or start with npm start -- --no-simulator.',
    );
  }
  const report = reportPath(context.dataDir);
  rmSync(report, { force: true });
  const server = ['--host', context.host, '--port', String(context.jt808Port)];
  const fleet = ['--phones', demoTerminals.join(','), '--channels', '2', '--report-file', report];
  fleet.push('--control-port', String(context.controlPort));
  return {
    name: 'terminal-simulator',
    tier: simulatorTier,
    command: process.execPath,
    args: [script, 'fleet', ...server, ...fleet],
    env: { ...context.env, FFMPEG_PATH: context.ffmpeg },
    logFile: join(context.logDir, 'terminal-simulator.log'),
    isReady: createFleetProbe(context),
    readyTimeoutMs,
  };
}
