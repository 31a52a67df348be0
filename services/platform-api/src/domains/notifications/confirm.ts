import { terminalKey } from '@fleet/jt808';
import { readDevice } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { parseAttributes } from '../../platform/fields.ts';
import { findVehicleByImei } from '../vehicles/queries.ts';
import { mergeAttributes } from './amend.ts';
import type { Notification } from './schema.ts';

/** What telling a terminal needs. */
export type ConfirmParts = Pick<Deps, 'records' | 'redis' | 'asker' | 'limits' | 'log'>;

/** Bits of the alarm word that a terminal keeps up until somebody has seen them (docs/reference/notifications.md). */
const confirmedBits = new Set([0, 3, 20, 21, 22, 27, 28, 31]);
/** Whoever acknowledges does not wait longer for a terminal that says nothing. */
const timeoutMs = 5_000;

/**
 * Tells the terminal that somebody has seen its alarm (0x8203) and notes in `terminal_confirmed` whether it has taken that. One that is away fails nothing: who
 * acknowledges again tries again.
 */
export async function confirmAtTerminal(
  parts: ConfirmParts,
  notification: Notification,
  requestId: string,
): Promise<Notification> {
  const attributes = parseAttributes(notification.attributes);
  const { bit } = attributes;
  if (attributes['terminal_confirmed'] === true || notification.type === 'unknown_alarm') return notification;
  if (typeof bit !== 'number' || !confirmedBits.has(bit)) return notification;
  const isConfirmed = await ask(parts, notification, bit, requestId);
  if (attributes['terminal_confirmed'] === isConfirmed) return notification;
  const change = { terminal_confirmed: isConfirmed };
  return (await mergeAttributes(parts.records, notification._id, change)) ?? notification;
}

async function ask(parts: ConfirmParts, notification: Notification, bit: number, requestId: string): Promise<boolean> {
  const imei = terminalKey(notification.imei);
  if (imei === null) return false;
  const vehicle = await findVehicleByImei(parts.records, imei);
  // The terminal is in another vehicle now, perhaps another account's.
  if (vehicle?._id !== notification.vehicleId || vehicle.accountId !== notification.accountId) return false;
  try {
    // A terminal that gets too many commands counts as one that is away: what is acknowledged stays so.
    await parts.limits.consume('command', imei);
    const outcome = await parts.asker.send({
      imei,
      // Serial 0: all alarms of the type, as several may have been folded into one notification.
      command: { kind: 'confirmAlarm', alarmSerialNo: 0, alarmTypes: 2 ** bit },
      correlationId: requestId,
      timeoutMs,
      isClaimed: async (each) => (await readDevice(parts.redis, each)) !== null,
    });
    return outcome.kind === 'answered' && outcome.answer.result === 0;
  } catch (error) {
    parts.log.warn({ err: error }, 'a terminal could not be told that its alarm was seen');
    return false;
  }
}
