import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inUrl, isLoopback, localAddress } from './addresses.ts';
import { prepareBackends } from './backends/prepare-backends.ts';
import { listOwnServers, startBackends } from './backends/start-backends.ts';
import { signInPath } from './demo.ts';
import { acquireLock } from './instance-lock.ts';
import type { LaunchOptions } from './options.ts';
import { claimPorts, describeTakenPort, findTakenPort, planPorts } from './ports.ts';
import type { Progress } from './progress.ts';
import { startReaper } from './reaper.ts';
import { type Runtime, removeRuntime, runtimePath, writeRuntime } from './runtime-file.ts';
import { loadSecrets } from './secrets.ts';
import { demoEmail, deviceApiAuth, type ServicesContext } from './service-plans.ts';
import { adminUrls, proxySpec, respondsOk, serviceSpecs } from './services.ts';
import { readFleet, simulatedFleetSpec } from './simulated-fleet.ts';
import { StartError } from './start-error.ts';
import { Supervisor } from './supervisor.ts';

export interface Product {
  runtime: Runtime;
  stop(): Promise<void>;
}

const portPollMs = 200;
/** Maximum time until the reaper (reaper.mjs) has ended the children of a killed launcher. */
const leftoverWaitMs = 12_000;
const healthyWaitMs = 20_000;
/** /health counts against the caller's limit. */
const healthPollMs = 1_000;

async function checkPorts(
  options: LaunchOptions,
  leftover: boolean,
  progress: Progress,
  stopping: AbortSignal,
): Promise<void> {
  const ports = planPorts(options.portOffset);
  const claims = claimPorts(ports, options.host, listOwnServers(options.env));
  let taken = await findTakenPort(claims);
  if (taken !== undefined && leftover) {
    await progress.step('Waiting for the processes of the previous start, which was killed, to end', async () => {
      const deadline = performance.now() + leftoverWaitMs;
      while (taken !== undefined && performance.now() < deadline) {
        await sleep(portPollMs, undefined, { signal: stopping });
        taken = await findTakenPort(claims);
      }
    });
  }
  if (taken !== undefined) throw new StartError(describeTakenPort(taken));
}

function describeRuntime(context: ServicesContext, processes: Record<string, number>): Runtime {
  const { options, ports, secrets, urls } = context;
  const host = localAddress(options.host);
  const at = (port: number): string => `http://${inUrl(host)}:${port}`;
  const health = adminUrls(context);
  return {
    pid: process.pid,
    started_at: new Date().toISOString(),
    data_dir: options.dataDir,
    base_url: at(ports.proxy),
    video_url: at(ports.video),
    ws_url: `ws://${inUrl(host)}:${ports.proxy}/ws`,
    device_api: { url: at(ports.deviceApi), api_key: secrets.demoApiKey, auth: deviceApiAuth(options) },
    platform_api: { url: health['platform-api'] ?? '' },
    video_service: { url: at(ports.video) },
    jt808: { host, port: ports.jt808 },
    jt1078: { host, live_port: ports.mediaLive, history_port: ports.mediaHistory, talk_port: ports.mediaTalk },
    ftp: { host, port: ports.ftp },
    attachments: { host, port: ports.attachments },
    demo: {
      email: demoEmail,
      password: secrets.demoPassword,
      api_key: secrets.demoApiKey,
      sign_in_url: isLoopback(host) ? `${at(ports.proxy)}${signInPath}` : null,
    },
    chat: { generic_secret: options.env['CHAT_GENERIC_SECRET'] ?? secrets.chatGenericSecret },
    backends: {
      nats_url: urls.NATS_URL,
      redis_url: urls.REDIS_URL,
      mongodb_url: urls.MONGODB_URL,
      ffmpeg: urls.FFMPEG_PATH,
    },
    health,
    processes,
    simulated_terminals: options.simulator ? (readFleet(options.dataDir) ?? []) : [],
  };
}

async function waitUntilHealthy(baseUrl: string, progress: Progress, stopping: AbortSignal): Promise<void> {
  const deadline = performance.now() + healthyWaitMs;
  while (!(await respondsOk(`${baseUrl}/api/v1/health`))) {
    if (performance.now() > deadline) {
      progress.line(`  Not every component is healthy yet; see ${baseUrl}/api/v1/health.`);
      return;
    }
    await sleep(healthPollMs, undefined, { signal: stopping });
  }
}

/**
 * Starts everything after the lock until the product responds. Each process is registered with the supervisor, which
 * can stop it.
 */
async function startEverything(
  options: LaunchOptions,
  supervisor: Supervisor,
  logDir: string,
  progress: Progress,
  stopping: AbortSignal,
): Promise<ServicesContext> {
  const { dataDir, cacheDir, env } = options;
  const ports = planPorts(options.portOffset);
  const prepared = await prepareBackends({ env, cacheDir, logDir, progress, signal: stopping });
  stopping.throwIfAborted();
  const urls = await progress.step('Starting NATS, Redis and the MongoDB-compatible server', () =>
    startBackends({ supervisor, prepared, ports, dataDir, logDir }),
  );
  const context: ServicesContext = { options, ports, secrets: loadSecrets(dataDir), urls, logDir };
  await progress.step('Starting the six services', () => supervisor.start(serviceSpecs(context)));
  await progress.step('Starting the reverse proxy', () => supervisor.start([proxySpec(context)]));
  stopping.throwIfAborted();
  const { base_url: baseUrl, jt808 } = describeRuntime(context, {});
  if (options.simulator) {
    const fleet = { dataDir, logDir, env, ffmpeg: urls.FFMPEG_PATH, host: jt808.host, jt808Port: jt808.port };
    const spec = simulatedFleetSpec({ ...fleet, controlPort: ports.simulatorControl, deviceApiUrl: baseUrl });
    await progress.step('Starting the simulated fleet', () => supervisor.start([spec]));
  }
  await progress.step('Checking the health of all components', () => waitUntilHealthy(baseUrl, progress, stopping));
  stopping.throwIfAborted();
  return context;
}

/** Starts the whole product. If that fails or `stopping` is aborted, everything that was started is stopped. */
export async function launch(options: LaunchOptions, progress: Progress, stopping: AbortSignal): Promise<Product> {
  const { dataDir } = options;
  const lock = acquireLock(dataDir);
  if (lock.kind === 'running') {
    throw new StartError(
      `The product is already running (process ${lock.pid}) on ${dataDir}: see ${runtimePath(dataDir)}, or start a second one with another DATA_DIR and PORT_OFFSET.`,
    );
  }
  removeRuntime(dataDir);
  const reaper = startReaper([runtimePath(dataDir), join(dataDir, 'launcher.lock')]);
  let runtime: Runtime | undefined;
  const supervisor = new Supervisor({
    reaper,
    report: (line) => progress.line(line),
    onChange: () => {
      if (runtime === undefined) return;
      runtime.processes = supervisor.pids();
      writeRuntime(runtime);
    },
  });
  const failing = new AbortController();
  const stop = async (): Promise<void> => {
    runtime = undefined;
    failing.abort();
    removeRuntime(dataDir);
    await supervisor.stop();
    await reaper.close();
    lock.release();
  };
  // Nothing becomes ready after an abort: stopping the supervisor ends its processes and thus its own waits.
  const endWaiting = (): void => void supervisor.stop();
  try {
    const signal = AbortSignal.any([stopping, failing.signal]);
    stopping.addEventListener('abort', endWaiting, { once: true });
    await checkPorts(options, lock.leftover, progress, signal);
    const context = await startEverything(options, supervisor, join(dataDir, 'logs'), progress, signal);
    stopping.removeEventListener('abort', endWaiting);
    runtime = describeRuntime(context, supervisor.pids());
    writeRuntime(runtime);
    return { runtime, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
