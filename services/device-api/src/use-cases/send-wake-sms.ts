import { findDevice, request } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { claimWakeSms, confirmWakeSms, releaseWakeSms } from '../store/wake-sms.ts';
import { stateTimeoutMs } from './send-command.ts';

export type WakeSmsDeps = Pick<Deps, 'bus' | 'config' | 'redis' | 'sms'>;

const findDeviceTimeoutMs = 3_000;

/**
 * Sends an SMS that wakes the device, at most one in `WAKE_SMS_EVERY_MS` for all callers. `underWay`: another request
 * is sending it; `none`: no provider, rejected by the provider, or this device gets none.
 */
export async function sendWakeSms(
  deps: WakeSmsDeps,
  imei: string,
  context: CommandContext,
): Promise<'sent' | 'underWay' | 'none'> {
  const { sms, redis, config } = deps;
  if (sms === null) return 'none';
  try {
    const claim = await withTimeout(
      stateTimeoutMs,
      claimWakeSms(redis, imei, config.WAKE_SMS_TIMEOUT_MS + findDeviceTimeoutMs + stateTimeoutMs),
    );
    if (claim !== 'ours') return claim;
    if (!(await isSmsAllowed(deps, imei, context))) {
      await withTimeout(stateTimeoutMs, releaseWakeSms(redis, imei));
      return 'none';
    }
    await sms.wake(imei, context.correlationId);
    context.log.info({ imei }, 'sent a wake-up SMS');
  } catch (error) {
    context.log.warn({ err: error, imei }, 'could not send a wake-up SMS');
    await releaseClaim(deps, imei, context);
    return 'none';
  }
  // Without Redis the claim expires soon, and at worst a second message is sent.
  await withTimeout(stateTimeoutMs, confirmWakeSms(redis, imei, config.WAKE_SMS_EVERY_MS)).catch((error: unknown) =>
    context.log.warn({ err: error, imei }, 'could not record an SMS'),
  );
  return 'sent';
}

// With required keys the device must be recorded, so that no caller sends SMS to arbitrary numbers.
async function isSmsAllowed({ bus, config }: WakeSmsDeps, imei: string, context: CommandContext): Promise<boolean> {
  if (config.DEVICE_API_AUTH === 'off') return true;
  const options = { timeoutMs: findDeviceTimeoutMs, correlationId: context.correlationId };
  return (await request(bus, findDevice, { imei }, options)).known;
}

async function releaseClaim({ redis }: WakeSmsDeps, imei: string, context: CommandContext): Promise<void> {
  await withTimeout(stateTimeoutMs, releaseWakeSms(redis, imei)).catch((error: unknown) =>
    // It expires by itself.
    context.log.debug({ err: error, imei }, 'could not release the claim on an SMS'),
  );
}
