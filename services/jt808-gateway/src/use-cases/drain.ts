import type { Bus, DeviceCommandServer } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import type { Devices, Session } from '../domain/device.ts';
import type { Listener } from '../net/listener.ts';
import type { CommandRunner } from './command-runner.ts';

interface DrainOptions {
  readonly bus: Bus;
  readonly devices: Devices;
  readonly listener: Listener;
  readonly runner: CommandRunner;
  readonly commandServer: DeviceCommandServer;
  readonly commandsTimeoutMs: number;
  readonly spreadMs: number;
  /** Aborted when the shutdown must stop waiting for commands. */
  readonly abortSignal: AbortSignal;
  readonly log: Logger;
}

const batchCount = 20;
const pendingAcksTimeoutMs = 5_000;
const pollMs = 20;
/**
 * Share of the command timeout in which all terminals stay connected. The rest is for commands that arrive within it.
 */
const servingFraction = 2 / 3;

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/**
 * Drains the pod before it stops. All terminals are served until the commands in flight have ended, as there may be no
 * other pod to take them. Then terminals are disconnected in batches, which spreads their reconnects to other pods. A
 * terminal is disconnected once it has no command in flight and no unacknowledged report.
 */
export async function drain(options: DrainOptions): Promise<void> {
  const { devices, listener, spreadMs, commandsTimeoutMs, log } = options;
  listener.stopAccepting();
  const startedAtMs = performance.now();
  log.info({ sessions: devices.sessions().length, commands: options.runner.inFlight }, 'draining');
  await waitForCommands(options, startedAtMs + commandsTimeoutMs * servingFraction);
  const sessions = shuffle(devices.sessions());
  const deadlineMs = startedAtMs + commandsTimeoutMs;
  const batchSize = Math.max(1, Math.ceil(sessions.length / batchCount));
  const closingBatches: Promise<void>[] = [];
  for (let offset = 0; offset < sessions.length; offset += batchSize) {
    closingBatches.push(closeBatch(options, sessions.slice(offset, offset + batchSize), deadlineMs));
    const gapMs = spreadMs / Math.ceil(sessions.length / batchSize);
    if (offset + batchSize < sessions.length) await sleep(gapMs * (0.5 + Math.random()));
  }
  await Promise.all(closingBatches);
}

/**
 * Waits until the commands in flight at the call have ended. Later ones delay only their own terminal, otherwise a busy
 * fleet would block the shutdown.
 */
async function waitForCommands({ devices, abortSignal }: DrainOptions, deadlineMs: number): Promise<void> {
  let remaining = devices.sessions().flatMap((session) => session.device.pending.list());
  while (remaining.length > 0 && performance.now() < deadlineMs && !abortSignal.aborted) {
    await sleep(pollMs);
    remaining = remaining.filter((command) => !command.isEnded);
  }
}

async function closeBatch(options: DrainOptions, sessions: readonly Session[], deadlineMs: number): Promise<void> {
  const { bus, commandServer, abortSignal } = options;
  for (const session of sessions) if (isActive(session)) commandServer.unsubscribe(session.device.imei);
  // One round trip later, all commands sent by the broker before the unsubscribe have arrived.
  if (bus.isUp()) await bus.nc.flush();
  const remaining = new Set(sessions);
  // Reports that are not stored by then stay unacknowledged, so the terminal resends them.
  const pendingAcksDeadlineMs = performance.now() + pendingAcksTimeoutMs;
  while (remaining.size > 0) {
    const now = performance.now();
    const isPastDeadline = now >= deadlineMs || abortSignal.aborted;
    for (const session of remaining) {
      const hasCommands = session.device.pending.size > 0 && !isPastDeadline;
      const hasPendingAcks = session.connection.pendingAcks > 0 && now < pendingAcksDeadlineMs;
      if (isActive(session) && (hasCommands || hasPendingAcks)) continue;
      remaining.delete(session);
      disconnect(session);
    }
    if (remaining.size > 0) await sleep(pollMs);
  }
}

function disconnect(session: Session): void {
  if (!isActive(session)) return;
  session.isLeaving = true;
  session.connection.end('drain');
}

const isActive = (session: Session): boolean => session.device.session === session;

function shuffle<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items;
}
