import { terminalKey } from '@fleet/jt808';
import { readDevice } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { parseAttributes } from '../../platform/fields.ts';
import { findVehicleByImei } from '../vehicles/queries.ts';
import { mergeAttributes } from './apply-updates.ts';
import type { Notification } from './schema.ts';

/** Dependencies of a confirmation at a terminal. */
export type ConfirmDeps = Pick<Deps, 'records' | 'redis' | 'commandClient' | 'limits' | 'log'>;

/** Bits of the alarm word that a terminal keeps set until the alarm is confirmed (docs/reference/notifications.md). */
const confirmedBits = new Set([0, 3, 20, 21, 22, 27, 28, 31]);
/** Limits how long an acknowledgement waits for a silent terminal. */
const timeoutMs = 5_000;

/**
 * Confirms the alarm at the terminal (0x8203) and stores in `terminal_confirmed` whether the terminal accepted that. An
 * unavailable terminal is not an error; the next acknowledgement tries again.
 */
export async function confirmAtTerminal(
  deps: ConfirmDeps,
  notification: Notification,
  requestId: string,
): Promise<Notification> {
  const attributes = parseAttributes(notification.attributes);
  const { bit } = attributes;
  if (attributes['terminal_confirmed'] === true || notification.type === 'unknown_alarm') return notification;
  if (typeof bit !== 'number' || !confirmedBits.has(bit)) return notification;
  const isConfirmed = await sendConfirmation(deps, notification, bit, requestId);
  if (attributes['terminal_confirmed'] === isConfirmed) return notification;
  const change = { terminal_confirmed: isConfirmed };
  return (await mergeAttributes(deps.records, notification._id, change)) ?? notification;
}

async function sendConfirmation(
  deps: ConfirmDeps,
  notification: Notification,
  bit: number,
  requestId: string,
): Promise<boolean> {
  const imei = terminalKey(notification.imei);
  if (imei === null) return false;
  const vehicle = await findVehicleByImei(deps.records, imei);
  // The terminal is in another vehicle now, perhaps in another account.
  if (vehicle?._id !== notification.vehicleId || vehicle.accountId !== notification.accountId) return false;
  try {
    // A terminal above its command limit counts as unavailable; the acknowledgement stays.
    await deps.limits.consume('command', imei);
    const outcome = await deps.commandClient.send({
      imei,
      // Serial number 0: all alarms of the type, as several may have been folded into one notification.
      command: { kind: 'confirmAlarm', alarmSerialNo: 0, alarmTypes: 2 ** bit },
      correlationId: requestId,
      timeoutMs,
      isClaimed: async (each) => (await readDevice(deps.redis, each)) !== null,
    });
    return outcome.kind === 'answered' && outcome.answer.result === 0;
  } catch (error) {
    deps.log.warn({ err: error }, 'could not confirm an alarm at its terminal');
    return false;
  }
}
