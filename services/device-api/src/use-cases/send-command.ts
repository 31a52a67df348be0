import {
  BusError,
  type DeviceCommand,
  findPartnerChannel,
  isCriticalCommand,
  type Outcome,
  request,
  sendPartnerCommand,
} from '@fleet/bus';
import { AppError, commandLevelError } from '@fleet/service-kit';
import { isDeviceExpected } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';

/** Time-out of reading state; afterwards it counts as unreadable. */
export const stateTimeoutMs = 2_000;
/** Longest wait for a reply of platform-api about a device without a session. */
const findChannelTimeoutMs = 2_500;

/** Dependencies of commands. */
export type CommandDeps = Pick<Deps, 'commandClient' | 'bus' | 'config' | 'redis' | 'stopped'>;

/**
 * Sends one command to a device and waits for its outcome, within the remaining time-out of the request. A device
 * without a session may belong to a partner: then platform-api sends the command to that partner's server.
 */
export async function sendCommand(
  deps: CommandDeps,
  imei: string,
  command: DeviceCommand,
  context: CommandContext,
): Promise<Outcome> {
  // Every command to a device passes here, so that no device receives one for which its caller was not admitted.
  if (context.isCriticalAllowed === false && isCriticalCommand(command)) throw commandLevelError();
  return abortOnShutdown(deps.stopped, sendToSession(deps, imei, command, context));
}

async function sendToSession(
  deps: CommandDeps,
  imei: string,
  command: DeviceCommand,
  context: CommandContext,
): Promise<Outcome> {
  const timeoutMs = Math.round(context.deadlineAtMs - performance.now());
  if (timeoutMs <= 0) return { kind: 'timedOut' };
  const outcome = await deps.commandClient.send({
    imei,
    command,
    correlationId: context.correlationId,
    identity: context.command,
    timeoutMs,
    isClaimed: (claimedImei) =>
      withTimeout(stateTimeoutMs, isDeviceExpected(deps.redis, claimedImei, deps.config.DEVICE_RETURN_WAIT_MS)),
  });
  return outcome.kind === 'notConnected' ? sendViaPartner(deps, imei, command, context) : outcome;
}

async function sendViaPartner(
  { bus }: Pick<Deps, 'bus'>,
  imei: string,
  command: DeviceCommand,
  { correlationId, deadlineAtMs, log }: CommandContext,
): Promise<Outcome> {
  const getRemainingMs = (): number => Math.round(deadlineAtMs - performance.now());
  let isSent = false;
  try {
    const lookupOptions = { timeoutMs: Math.max(1, Math.min(findChannelTimeoutMs, getRemainingMs())), correlationId };
    if (!(await request(bus, findPartnerChannel, { imei }, lookupOptions)).hasChannel) return { kind: 'notConnected' };
    isSent = true;
    const sendOptions = { timeoutMs: Math.max(1, getRemainingMs()), correlationId };
    const outcome = await request(bus, sendPartnerCommand, { imei, command }, sendOptions);
    return outcome.kind === 'noPartner' ? { kind: 'notConnected' } : outcome;
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    if (isSent && error.kind === 'timedOut') return { kind: 'timedOut' };
    // Without platform-api, which knows partners, a device without a session is not connected.
    log.debug({ err: error, imei }, 'could not query whether a partner has the device');
    return { kind: 'notConnected' };
  }
}

/** Ends a wait with 503 after the shutdown time-out. */
export async function abortOnShutdown<T>(stopSignal: AbortSignal, work: Promise<T>): Promise<T> {
  let onStopped: (() => void) | undefined;
  const abortion = new Promise<never>((_resolve, reject) => {
    onStopped = () => reject(new AppError('unavailable', 'The server is stopping. Retry.'));
    if (stopSignal.aborted) onStopped();
    else stopSignal.addEventListener('abort', onStopped, { once: true });
  });
  try {
    return await Promise.race([work, abortion]);
  } finally {
    if (onStopped !== undefined) stopSignal.removeEventListener('abort', onStopped);
  }
}
