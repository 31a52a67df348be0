import { AppError } from '@fleet/service-kit';
import { type DeviceState, readDevice } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { answerOf } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';
import { type AskDeps, askDevice, stateLimitMs } from './ask-device.ts';

/** The session of a device, with the round trip of a harmless query where that is wanted; null when the device is not connected. */
export async function pingDevice(
  deps: AskDeps,
  request: { imei: string; isDeep: boolean },
  context: CommandContext,
): Promise<(DeviceState & { readonly rttMs: number | null }) | null> {
  const device = await readState(deps, request.imei);
  if (device === null || !request.isDeep) return device && { ...device, rttMs: null };
  const startedAtMs = performance.now();
  const outcome = await askDevice(deps, request.imei, { kind: 'wakeUp' }, context);
  if (outcome.kind === 'notConnected') return null;
  answerOf(outcome);
  return { ...device, lastSeenMs: Date.now(), rttMs: Math.round(performance.now() - startedAtMs) };
}

async function readState(deps: Pick<Deps, 'redis'>, imei: string): Promise<DeviceState | null> {
  try {
    return await within(stateLimitMs, readDevice(deps.redis, imei));
  } catch (cause) {
    throw new AppError('unavailable', 'The state of the device can not be read at the moment.', { cause });
  }
}
