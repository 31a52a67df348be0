import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Ports } from '../ports.ts';
import { readOutput } from '../run-command.ts';
import type { ProcessSpec } from '../supervised-process.ts';
import type { Supervisor } from '../supervisor.ts';
import type { PreparedBackends } from './prepare-backends.ts';
import { probe, type ServerKind } from './probe.ts';

/** Addresses of the backends that the services receive. */
export interface BackendUrls {
  NATS_URL: string;
  REDIS_URL: string;
  MONGODB_URL: string;
  FFMPEG_PATH: string;
}

interface StartBackendsOptions {
  supervisor: Supervisor;
  prepared: PreparedBackends;
  ports: Pick<Ports, ServerKind>;
  dataDir: string;
  logDir: string;
}

const loopback = '127.0.0.1';
const backendTier = 0;
const readyTimeoutMs = 120_000;
const natsMaxPayload = '8MB';

/** Returns the configuration of NATS. Servers before 2.10 refuse to start when they read `sync_interval`. */
export function natsConfig(version: string, storeDir: string): string {
  const match = /v?(\d+)\.(\d+)/.exec(version);
  const knowsSyncInterval = match !== null && (Number(match[1]) > 2 || Number(match[2]) >= 10);
  const lines = [
    `max_payload: ${natsMaxPayload}`,
    'jetstream {',
    `  store_dir: ${JSON.stringify(storeDir)}`,
    // Weaker than production, which uses "always": only a power failure can lose newer data; a killed server loses
    // nothing.
    ...(knowsSyncInterval ? ['  sync_interval: "10s"'] : []),
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

async function natsArgs(program: string, port: number, dataDir: string): Promise<string[]> {
  const folder = join(dataDir, 'nats');
  mkdirSync(folder, { recursive: true });
  const configFile = join(folder, 'nats-server.conf');
  writeFileSync(configFile, natsConfig((await readOutput(program, ['-v'])) ?? '', folder));
  return ['-c', configFile, '-a', loopback, '-p', String(port)];
}

function redisArgs(port: number, dataDir: string): string[] {
  const folder = join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true });
  const settings = { port, bind: loopback, dir: folder, appendonly: 'yes', appendfsync: 'everysec', daemonize: 'no' };
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]), '--save', ''];
}

// A real mongod and FerretDB have different file formats, so each has a separate folder.
function mongodbArgs(program: string, port: number, dataDir: string): string[] {
  const isFerret = basename(program) !== 'mongod';
  const folder = join(dataDir, isFerret ? 'mongodb' : 'mongod');
  mkdirSync(folder, { recursive: true });
  if (isFerret) return ['-listen', `${loopback}:${port}`, '-dir', folder];
  return ['--bind_ip', loopback, '--port', String(port), '--dbpath', folder, '--wiredTigerCacheSizeGB', '0.25'];
}

async function buildArgs(kind: ServerKind, program: string, port: number, dataDir: string): Promise<string[]> {
  if (kind === 'nats') return natsArgs(program, port, dataDir);
  return kind === 'redis' ? redisArgs(port, dataDir) : mongodbArgs(program, port, dataDir);
}

/**
 * Starts the backends without an external URL, waits until each responds in its own protocol, and returns all their
 * URLs.
 */
export async function startBackends({
  supervisor,
  prepared,
  ports,
  dataDir,
  logDir,
}: StartBackendsOptions): Promise<BackendUrls> {
  const specs: ProcessSpec[] = [];
  const addServer = async (kind: ServerKind, path: string): Promise<string> => {
    const resolved = prepared[kind];
    if (resolved.from === 'url') return resolved.url;
    const port = ports[kind];
    specs.push({
      name: kind,
      tier: backendTier,
      command: resolved.program,
      args: await buildArgs(kind, resolved.program, port, dataDir),
      env: process.env,
      logFile: join(logDir, `${kind}.log`),
      isReady: () => probe(kind, loopback, port),
      readyTimeoutMs,
    });
    return `${kind}://${loopback}:${port}${path}`;
  };
  const urls = {
    NATS_URL: await addServer('nats', ''),
    REDIS_URL: await addServer('redis', ''),
    MONGODB_URL: await addServer('mongodb', '/fleet'),
    FFMPEG_PATH: prepared.ffmpeg.from === 'url' ? prepared.ffmpeg.url : prepared.ffmpeg.program,
  };
  await supervisor.start(specs);
  return urls;
}

/** Returns the backends that a start runs itself, which therefore need a port. */
export function listOwnServers(env: NodeJS.ProcessEnv): ServerKind[] {
  const variables = { nats: env['NATS_URL'], redis: env['REDIS_URL'], mongodb: env['MONGODB_URL'] };
  return (Object.keys(variables) as ServerKind[]).filter((kind) => (variables[kind] ?? '') === '');
}
