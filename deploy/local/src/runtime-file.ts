import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonIfExists, writeJsonAtomically } from './atomic-file.ts';

export interface SimulatedTerminal {
  imei: string;
  edition: string;
  channels: number;
}

/**
 * Description of the running product for scripts: `runtime.json` in the data folder, which exists from the ready state
 * until the stop.
 */
export interface Runtime {
  /** Process id of the launcher: SIGTERM to it stops everything. */
  pid: number;
  started_at: string;
  data_dir: string;
  base_url: string;
  video_url: string;
  ws_url: string;
  device_api: { url: string; api_key: string; auth: 'off' | 'key' };
  platform_api: { url: string };
  video_service: { url: string };
  jt808: { host: string; port: number };
  jt1078: { host: string; live_port: number; history_port: number; talk_port: number };
  ftp: { host: string; port: number };
  attachments: { host: string; port: number };
  /** `sign_in_url` logs a browser on this machine in; null where the product is reachable on loopback only by others. */
  demo: { email: string; password: string; api_key: string; sign_in_url: string | null };
  /** Secret of the provider `generic` of the SMS and voice receivers. */
  chat: { generic_secret: string };
  backends: { nats_url: string; redis_url: string; mongodb_url: string; ffmpeg: string };
  /** Base URL of each process's /livez, /readyz and /metrics. */
  health: Record<string, string>;
  processes: Record<string, number>;
  simulated_terminals: SimulatedTerminal[];
}

export const runtimePath = (dataDir: string): string => join(dataDir, 'runtime.json');

// The file contains the demo password and key.
export const writeRuntime = (runtime: Runtime): void =>
  writeJsonAtomically(runtimePath(runtime.data_dir), runtime, 0o600);

export const removeRuntime = (dataDir: string): void => rmSync(runtimePath(dataDir), { force: true });

export function readRuntime(dataDir: string): Runtime | undefined {
  const value = readJsonIfExists(runtimePath(dataDir));
  return typeof value === 'object' && value !== null ? (value as Runtime) : undefined;
}
