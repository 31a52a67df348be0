import { findDevice, request } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { within } from '../domain/within.ts';
import { claimWakeMessage, dropWakeMessage, keepWakeMessage } from '../store/wake-messages.ts';
import { stateLimitMs } from './ask-device.ts';

export type MessageDeps = Pick<Deps, 'bus' | 'config' | 'redis' | 'sms'>;

const findLimitMs = 3_000;

/**
 * Sends an SMS that wakes the device, at most one in `WAKE_SMS_EVERY_MS` for all callers. `underWay`: another request
 * is sending it; `none`: no provider, rejected by the provider, or this device gets none.
 */
export async function sendWakeMessage(
  deps: MessageDeps,
  imei: string,
  context: CommandContext,
): Promise<'sent' | 'underWay' | 'none'> {
  const { sms, redis, config } = deps;
  if (sms === null) return 'none';
  try {
    const state = await within(
      stateLimitMs,
      claimWakeMessage(redis, imei, config.WAKE_SMS_TIMEOUT_MS + findLimitMs + stateLimitMs),
    );
    if (state !== 'ours') return state;
    if (!(await mayBeSent(deps, imei, context))) {
      await within(stateLimitMs, dropWakeMessage(redis, imei));
      return 'none';
    }
    await sms.wake(imei, context.correlationId);
    context.log.info({ imei }, 'sent a wake-up SMS');
  } catch (error) {
    context.log.warn({ err: error, imei }, 'could not send a wake-up SMS');
    await letOthersTry(deps, imei, context);
    return 'none';
  }
  // Without Redis the claim expires soon, and at worst a second message is sent.
  await within(stateLimitMs, keepWakeMessage(redis, imei, config.WAKE_SMS_EVERY_MS)).catch((error: unknown) =>
    context.log.warn({ err: error, imei }, 'could not record an SMS'),
  );
  return 'sent';
}

/** With required keys the device must be recorded, so that no caller sends SMS to arbitrary numbers. */
async function mayBeSent({ bus, config }: MessageDeps, imei: string, context: CommandContext): Promise<boolean> {
  if (config.DEVICE_API_AUTH === 'off') return true;
  const options = { timeoutMs: findLimitMs, correlationId: context.correlationId };
  return (await request(bus, findDevice, { imei }, options)).known;
}

async function letOthersTry({ redis }: MessageDeps, imei: string, context: CommandContext): Promise<void> {
  await within(stateLimitMs, dropWakeMessage(redis, imei)).catch((error: unknown) =>
    // It expires by itself.
    context.log.debug({ err: error, imei }, 'could not release the claim on an SMS'),
  );
}
