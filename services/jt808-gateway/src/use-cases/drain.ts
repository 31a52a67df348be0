import type { Bus, DeviceCommandServer } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import type { Devices, Session } from '../domain/device.ts';
import type { Listener } from '../net/listener.ts';
import type { CommandRunner } from './command-runner.ts';

export interface DrainOptions {
  readonly bus: Bus;
  readonly devices: Devices;
  readonly listener: Listener;
  readonly runner: CommandRunner;
  readonly commandServer: DeviceCommandServer;
  readonly commandsMs: number;
  readonly spreadMs: number;
  readonly log: Logger;
}

const batches = 20;
const unstoredLimitMs = 5_000;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/**
 * Empties the pod before it stops. A terminal is disconnected once it has neither a command in flight nor a report without its acknowledgement, in batches, so that
 * the other pods are not stormed; until then it is served as ever.
 */
export async function drain(options: DrainOptions): Promise<void> {
  const { devices, listener, spreadMs, commandsMs, log } = options;
  listener.stopAccepting();
  const sessions = shuffled(devices.sessions());
  log.info({ sessions: sessions.length, commands: options.runner.inFlight }, 'draining');
  const deadlineMs = performance.now() + commandsMs;
  const size = Math.max(1, Math.ceil(sessions.length / batches));
  const leaving: Promise<void>[] = [];
  for (let at = 0; at < sessions.length; at += size) {
    leaving.push(closeBatch(options, sessions.slice(at, at + size), deadlineMs));
    const gapMs = spreadMs / Math.ceil(sessions.length / size);
    if (at + size < sessions.length) await pause(gapMs * (0.5 + Math.random()));
  }
  await Promise.all(leaving);
}

async function closeBatch(options: DrainOptions, sessions: readonly Session[], deadlineMs: number): Promise<void> {
  const waiting = new Set(sessions);
  while (waiting.size > 0) {
    const isOver = performance.now() >= deadlineMs;
    const idle = [...waiting].filter((session) => isOver || session.device.pending.size === 0);
    for (const session of idle) waiting.delete(session);
    await closeIdle(options, idle, waiting, isOver);
    if (waiting.size > 0) await pause(20);
  }
}

/** Closes sessions without commands; one that gets a command at the last moment goes back to `waiting`. */
async function closeIdle(
  { bus, commandServer }: DrainOptions,
  idle: readonly Session[],
  waiting: Set<Session>,
  isOver: boolean,
): Promise<void> {
  if (idle.length === 0) return;
  for (const session of idle) if (isStanding(session)) commandServer.close(session.device.imei);
  // Commands that the broker had sent before it knew are here after one round trip.
  if (bus.isUp()) await bus.nc.flush();
  const until = performance.now() + unstoredLimitMs;
  while (idle.some((session) => session.connection.unstored > 0) && performance.now() < until) await pause(5);
  for (const session of idle) {
    if (!isStanding(session)) continue;
    if (session.device.pending.size > 0 && !isOver) waiting.add(session);
    else {
      session.isLeaving = true;
      session.connection.end('drain');
    }
  }
}

const isStanding = (session: Session): boolean => session.device.session === session;

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items;
}
