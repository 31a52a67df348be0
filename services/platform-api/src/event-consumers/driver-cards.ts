import { type CameraTime, driverReport } from '@fleet/jt808';
import { findDriverByCard } from '../domains/drivers/queries.ts';
import type { Driver } from '../domains/drivers/schema.ts';
import { closeDriverSession, currentDriver, openDriverSession } from '../domains/drivers/sessions.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { type EventParts, raiseHappenings } from './parts.ts';
import type { TerminalHandler, TerminalMessage } from './terminal-messages.ts';

type Report = TerminalMessage<Parameters<(typeof keepDriverCards)['handle']>[1]['body']>;

const cardOut = 2;

/**
 * Handles 0x0702. A known card opens a driver session, closes the previous one and creates `driver_change`; an unknown
 * or unreadable one creates it without a driver. A repeated card is no change: terminals repeat it.
 */
export const keepDriverCards: TerminalHandler<typeof driverReport> = {
  definition: driverReport,
  durable: 'platform-drivers',
  isInOrder: true,
  handle: async (parts, message) => {
    const vehicle = await findVehicleByImei(parts.records, message.imei);
    if (vehicle === null || !hadTerminalAt(vehicle, message.receivedAtMs)) return;
    if (message.body.status === cardOut) await closeDriverSession(parts, vehicle, false);
    else await cardIn(parts, vehicle, message);
  },
};

async function cardIn(parts: EventParts, vehicle: Vehicle, message: Report): Promise<void> {
  const numbers = cardNumbers(message);
  const driver = await driverOf(parts, vehicle, numbers);
  const before = await currentDriver(parts, vehicle);
  if (driver !== null && before?._id === driver._id) return;
  const atMs = momentOf(message.body.time, vehicle.cameraUtcOffset) ?? message.receivedAtMs;
  const { cardReadResult = 0, driverName } = message.body;
  const happening = {
    type: 'driver_change',
    subject: '',
    atMs,
    driverId: driver?._id ?? null,
    attributes: {
      card_number: numbers[0] ?? null,
      driver_name: driver?.name ?? driverName ?? null,
      previous_driver_id: before?._id ?? null,
      card_read_result: cardReadResult,
    },
  };
  // First, because a repeated step is published once, and a completed step would not be published at all.
  await raiseHappenings(parts, [{ vehicle, happening }]);
  if (driver === null) await closeDriverSession(parts, vehicle, true);
  else await openDriverSession(parts, vehicle, driver);
}

/** Returns possible numbers of the card: certificate, person, or the card itself. */
const cardNumbers = ({ body: { certificateNo, idCardNo, uid } }: Report): string[] =>
  [certificateNo, idCardNo, uid].flatMap((number) => {
    const trimmed = number?.replaceAll('\0', '').trim() ?? '';
    return trimmed === '' ? [] : [trimmed];
  });

async function driverOf(parts: EventParts, vehicle: Vehicle, numbers: readonly string[]): Promise<Driver | null> {
  for (const number of numbers) {
    const driver = await findDriverByCard(parts, vehicle, number);
    if (driver !== null) return driver;
  }
  return null;
}

function momentOf(time: CameraTime | undefined, offset: string): number | undefined {
  if (typeof time !== 'string') return undefined;
  const atMs = Date.parse(`${time}${offset}`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
