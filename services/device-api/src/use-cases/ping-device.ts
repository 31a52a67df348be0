import { AppError } from '@fleet/service-kit';
import { type DeviceState, readDevice, readLastSeenMs } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { unwrapResponse } from '../domain/outcome.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { type CommandDeps, sendCommand, stateTimeoutMs } from './send-command.ts';

/** Result of a ping. */
interface PingResult {
  readonly connected: boolean;
  /** Time of the device's last message, in this session or an earlier one. */
  readonly lastSeenMs: number | null;
  readonly onlineSinceMs: number | null;
  /** Round trip of a harmless query, when one was requested. */
  readonly rttMs: number | null;
}

/** Returns the session of a device, with the round trip of a harmless query if `isDeep`. */
export async function pingDevice(
  deps: CommandDeps,
  request: { imei: string; isDeep: boolean },
  context: CommandContext,
): Promise<PingResult> {
  const { device, lastSeenMs } = await readState(deps, request.imei);
  if (device === null) return toDisconnectedResult(lastSeenMs);
  const { onlineSinceMs } = device;
  if (!request.isDeep) return { connected: true, lastSeenMs, onlineSinceMs, rttMs: null };
  const startedAtMs = performance.now();
  const outcome = await sendCommand(deps, request.imei, { kind: 'wakeUp' }, context);
  if (outcome.kind === 'notConnected') return toDisconnectedResult(lastSeenMs);
  unwrapResponse(outcome);
  const rttMs = Math.round(performance.now() - startedAtMs);
  return { connected: true, lastSeenMs: Date.now(), onlineSinceMs, rttMs };
}

const toDisconnectedResult = (lastSeenMs: number | null): PingResult => ({
  connected: false,
  lastSeenMs,
  onlineSinceMs: null,
  rttMs: null,
});

interface DeviceSnapshot {
  readonly device: DeviceState | null;
  readonly lastSeenMs: number | null;
}

async function readState({ redis }: Pick<Deps, 'redis'>, imei: string): Promise<DeviceSnapshot> {
  try {
    const reads = Promise.all([readDevice(redis, imei), readLastSeenMs(redis, imei)]);
    const [device, storedLastSeenMs] = await withTimeout(stateTimeoutMs, reads);
    return { device, lastSeenMs: device?.lastSeenMs ?? storedLastSeenMs };
  } catch (cause) {
    throw new AppError('unavailable', 'The state of the device cannot be read at the moment. Retry.', { cause });
  }
}
