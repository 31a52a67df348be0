import {
  BusError,
  type DeviceCommand,
  findPartnerChannel,
  isCriticalCommand,
  type Outcome,
  request,
  sendPartnerCommand,
} from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { isDeviceExpected } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { aboveCommandLevel } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';

/** Time-out of reading state; afterwards it counts as unreadable. */
export const stateLimitMs = 2_000;
/** Longest wait for a reply of platform-api about a device without a session. */
const lookLimitMs = 2_500;

/** Dependencies of commands. */
export type AskDeps = Pick<Deps, 'asker' | 'bus' | 'config' | 'redis' | 'stopped'>;

/**
 * Sends one command to a device and waits for its outcome, within the remaining time-out of the request. A device
 * without a session may belong to a partner: then platform-api sends the command to that partner's server.
 */
export async function askDevice(
  deps: AskDeps,
  imei: string,
  command: DeviceCommand,
  context: CommandContext,
): Promise<Outcome> {
  // Every command to a device passes here, so that no device receives one for which its caller was not admitted.
  if (context.mayBeCritical === false && isCriticalCommand(command)) throw aboveCommandLevel();
  return unlessStopped(deps.stopped, askSession(deps, imei, command, context));
}

async function askSession(
  deps: AskDeps,
  imei: string,
  command: DeviceCommand,
  context: CommandContext,
): Promise<Outcome> {
  const timeoutMs = Math.round(context.deadlineAtMs - performance.now());
  if (timeoutMs <= 0) return { kind: 'timedOut' };
  const outcome = await deps.asker.send({
    imei,
    command,
    correlationId: context.correlationId,
    identity: context.command,
    timeoutMs,
    isClaimed: (claimed) =>
      within(stateLimitMs, isDeviceExpected(deps.redis, claimed, deps.config.DEVICE_RETURN_WAIT_MS)),
  });
  return outcome.kind === 'notConnected' ? askPartnerOf(deps, imei, command, context) : outcome;
}

async function askPartnerOf(
  { bus }: Pick<Deps, 'bus'>,
  imei: string,
  command: DeviceCommand,
  { correlationId, deadlineAtMs, log }: CommandContext,
): Promise<Outcome> {
  const leftMs = (): number => Math.round(deadlineAtMs - performance.now());
  let isAsked = false;
  try {
    const look = { timeoutMs: Math.max(1, Math.min(lookLimitMs, leftMs())), correlationId };
    if (!(await request(bus, findPartnerChannel, { imei }, look)).hasChannel) return { kind: 'notConnected' };
    isAsked = true;
    const wait = { timeoutMs: Math.max(1, leftMs()), correlationId };
    const outcome = await request(bus, sendPartnerCommand, { imei, command }, wait);
    return outcome.kind === 'noPartner' ? { kind: 'notConnected' } : outcome;
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    if (isAsked && error.kind === 'timedOut') return { kind: 'timedOut' };
    // Without platform-api, which knows partners, a device without a session is not connected.
    log.debug({ err: error, imei }, 'could not query whether a partner has the device');
    return { kind: 'notConnected' };
  }
}

/** Ends a wait with 503 after the shutdown time-out. */
export async function unlessStopped<T>(stopped: AbortSignal, work: Promise<T>): Promise<T> {
  let onStopped: (() => void) | undefined;
  const stop = new Promise<never>((_resolve, reject) => {
    onStopped = () => reject(new AppError('unavailable', 'The server is stopping. Retry.'));
    if (stopped.aborted) onStopped();
    else stopped.addEventListener('abort', onStopped, { once: true });
  });
  try {
    return await Promise.race([work, stop]);
  } finally {
    if (onStopped !== undefined) stopped.removeEventListener('abort', onStopped);
  }
}
