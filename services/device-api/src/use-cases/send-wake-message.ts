import { findDevice, request } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { within } from '../domain/within.ts';
import { claimWakeMessage, dropWakeMessage, keepWakeMessage } from '../store/wake-messages.ts';
import { stateLimitMs } from './ask-device.ts';

export type MessageDeps = Pick<Deps, 'bus' | 'config' | 'redis' | 'sms'>;

const findLimitMs = 3_000;

/**
 * Sees to it that an SMS which wakes the device is on its way: one in `WAKE_SMS_EVERY_MS`, whoever asks. `underWay`: another request is about to send it;
 * `none`: there is no provider, or it did not take the message, or this device gets none.
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
    context.log.info({ imei }, 'an SMS was sent to wake a device');
  } catch (error) {
    context.log.warn({ err: error, imei }, 'no SMS could be sent to wake a device');
    await letOthersTry(deps, imei, context);
    return 'none';
  }
  // Without Redis the claim runs out soon, and at worst a second message is sent.
  await within(stateLimitMs, keepWakeMessage(redis, imei, config.WAKE_SMS_EVERY_MS)).catch((error: unknown) =>
    context.log.warn({ err: error, imei }, 'an SMS could not be noted'),
  );
  return 'sent';
}

/** Where callers are strangers, they do not get SMS sent to any number in the world: the device has to be on record. */
async function mayBeSent({ bus, config }: MessageDeps, imei: string, context: CommandContext): Promise<boolean> {
  if (config.DEVICE_API_AUTH === 'off') return true;
  const options = { timeoutMs: findLimitMs, correlationId: context.correlationId };
  return (await request(bus, findDevice, { imei }, options)).known;
}

async function letOthersTry({ redis }: MessageDeps, imei: string, context: CommandContext): Promise<void> {
  await within(stateLimitMs, dropWakeMessage(redis, imei)).catch((error: unknown) =>
    // It expires by itself.
    context.log.debug({ err: error, imei }, 'the claim on an SMS could not be given up'),
  );
}
