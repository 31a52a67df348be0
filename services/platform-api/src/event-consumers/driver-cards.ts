import { type CameraTime, driverReport } from '@fleet/jt808';
import { findDriverByCard } from '../domains/drivers/queries.ts';
import type { Driver } from '../domains/drivers/schema.ts';
import { closeDriverSession, currentDriver, openDriverSession } from '../domains/drivers/sessions.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { TerminalHandler, TerminalMessage } from './terminal-messages.ts';
import { type EventConsumerDeps, raiseVehicleEvents } from './vehicle-events.ts';

type DriverReport = TerminalMessage<Parameters<(typeof driverCardHandler)['handle']>[1]['body']>;

const cardRemoved = 2;

/**
 * Handles 0x0702. A known card opens a driver session, closes the previous one and creates `driver_change`; an unknown
 * or unreadable one creates it without a driver. A repeated card is no change: terminals repeat it.
 */
export const driverCardHandler: TerminalHandler<typeof driverReport> = {
  definition: driverReport,
  durable: 'platform-drivers',
  isInOrder: true,
  handle: async (deps, message) => {
    const vehicle = await findVehicleByImei(deps.records, message.imei);
    if (vehicle === null || !hadTerminalAt(vehicle, message.receivedAtMs)) return;
    if (message.body.status === cardRemoved) await closeDriverSession(deps, vehicle, false);
    else await handleInsertedCard(deps, vehicle, message);
  },
};

async function handleInsertedCard(deps: EventConsumerDeps, vehicle: Vehicle, message: DriverReport): Promise<void> {
  const numbers = cardNumbers(message);
  const driver = await findCardDriver(deps, vehicle, numbers);
  const previous = await currentDriver(deps, vehicle);
  if (driver !== null && previous?._id === driver._id) return;
  const atMs = parseCameraTime(message.body.time, vehicle.cameraUtcOffset) ?? message.receivedAtMs;
  const { cardReadResult = 0, driverName } = message.body;
  const event = {
    type: 'driver_change',
    subject: '',
    atMs,
    driverId: driver?._id ?? null,
    attributes: {
      card_number: numbers[0] ?? null,
      driver_name: driver?.name ?? driverName ?? null,
      previous_driver_id: previous?._id ?? null,
      card_read_result: cardReadResult,
    },
  };
  // First, because a repeated step is published once, and a completed step would not be published at all.
  await raiseVehicleEvents(deps, [{ vehicle, event }]);
  if (driver === null) await closeDriverSession(deps, vehicle, true);
  else await openDriverSession(deps, vehicle, driver);
}

/** Returns possible numbers of the card: certificate, person, or the card itself. */
const cardNumbers = ({ body: { certificateNo, idCardNo, uid } }: DriverReport): string[] =>
  [certificateNo, idCardNo, uid].flatMap((number) => {
    const trimmed = number?.replaceAll('\0', '').trim() ?? '';
    return trimmed === '' ? [] : [trimmed];
  });

async function findCardDriver(
  deps: EventConsumerDeps,
  vehicle: Vehicle,
  numbers: readonly string[],
): Promise<Driver | null> {
  for (const number of numbers) {
    const driver = await findDriverByCard(deps, vehicle, number);
    if (driver !== null) return driver;
  }
  return null;
}

function parseCameraTime(time: CameraTime | undefined, offset: string): number | undefined {
  if (typeof time !== 'string') return undefined;
  const atMs = Date.parse(`${time}${offset}`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
