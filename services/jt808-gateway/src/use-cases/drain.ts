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
  /** Aborted when commands are to be waited for no longer. */
  readonly hurry: AbortSignal;
  readonly log: Logger;
}

const batches = 20;
const unstoredLimitMs = 5_000;
const pollMs = 20;
/** The part of the time for commands in which all terminals stay connected. The rest is for what they are sent in it. */
const servingShare = 2 / 3;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/**
 * Empties the pod before it stops. All terminals are served until the commands in flight have ended, as no other pod may be there to take them. Then terminals are
 * disconnected in batches, so that the other pods are not stormed. A terminal leaves once it has no command in flight and no report without its acknowledgement.
 */
export async function drain(options: DrainOptions): Promise<void> {
  const { devices, listener, spreadMs, commandsMs, log } = options;
  listener.stopAccepting();
  const startedAtMs = performance.now();
  log.info({ sessions: devices.sessions().length, commands: options.runner.inFlight }, 'draining');
  await commandsEnd(options, startedAtMs + commandsMs * servingShare);
  const sessions = shuffled(devices.sessions());
  const deadlineMs = startedAtMs + commandsMs;
  const size = Math.max(1, Math.ceil(sessions.length / batches));
  const leaving: Promise<void>[] = [];
  for (let at = 0; at < sessions.length; at += size) {
    leaving.push(closeBatch(options, sessions.slice(at, at + size), deadlineMs));
    const gapMs = spreadMs / Math.ceil(sessions.length / size);
    if (at + size < sessions.length) await pause(gapMs * (0.5 + Math.random()));
  }
  await Promise.all(leaving);
}

/** Waits until the commands that are in flight now have ended. Later ones are left to the closing of their terminals, else a busy fleet would never leave. */
async function commandsEnd({ devices, hurry }: DrainOptions, deadlineMs: number): Promise<void> {
  let waiting = devices.sessions().flatMap((session) => session.device.pending.list());
  while (waiting.length > 0 && performance.now() < deadlineMs && !hurry.aborted) {
    await pause(pollMs);
    waiting = waiting.filter((command) => !command.isEnded);
  }
}

async function closeBatch(options: DrainOptions, sessions: readonly Session[], deadlineMs: number): Promise<void> {
  const { bus, commandServer, hurry } = options;
  for (const session of sessions) if (isStanding(session)) commandServer.close(session.device.imei);
  // Commands that the broker had sent before it knew are here after one round trip.
  if (bus.isUp()) await bus.nc.flush();
  const waiting = new Set(sessions);
  // What is not stored by then is not acknowledged: the terminal sends it again.
  const storedBeforeMs = performance.now() + unstoredLimitMs;
  while (waiting.size > 0) {
    const now = performance.now();
    const isOver = now >= deadlineMs || hurry.aborted;
    for (const session of waiting) {
      const hasCommands = session.device.pending.size > 0 && !isOver;
      const hasUnstored = session.connection.unstored > 0 && now < storedBeforeMs;
      if (isStanding(session) && (hasCommands || hasUnstored)) continue;
      waiting.delete(session);
      disconnect(session);
    }
    if (waiting.size > 0) await pause(pollMs);
  }
}

function disconnect(session: Session): void {
  if (!isStanding(session)) return;
  session.isLeaving = true;
  session.connection.end('drain');
}

const isStanding = (session: Session): boolean => session.device.session === session;

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items;
}
