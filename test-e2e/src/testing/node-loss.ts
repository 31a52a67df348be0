import { waitFor } from '@fleet/testing';
import type { AlarmReceiver } from './alarm-receiver.ts';
import { type AlarmedVehicle, toReceipts } from './alarmed-vehicle.ts';
import type { PlatformClient } from './platform-client.ts';
import { formatLocationName, readStoredLocations } from './stored-locations.ts';

/** An election, and the return of each reader, on a machine under load. */
export const recoveryMs = 120_000;

const startedAtMs = Date.now();

/** Waits until the history has each acknowledged location of a vehicle; returns their number. */
export async function waitForLocations(client: PlatformClient, vehicle: AlarmedVehicle): Promise<number> {
  const acknowledged = vehicle.terminal.acknowledgedReports.map(formatLocationName);
  const window = { fromMs: startedAtMs - 600_000, toMs: Date.now() + 600_000 };
  const isComplete = async (): Promise<boolean> => {
    const stored = new Set(await readStoredLocations(client, vehicle.id, window));
    return acknowledged.every((name) => stored.has(name));
  };
  await waitFor(isComplete, 'every acknowledged location in the history', recoveryMs);
  return acknowledged.length;
}

/** Raises alarms before and after a fault, and waits until each is listed and has reached the webhook. */
export async function expectAlarmsDespite(
  fault: () => Promise<void>,
  { client, vehicle, receiver }: { client: PlatformClient; vehicle: AlarmedVehicle; receiver: AlarmReceiver },
): Promise<void> {
  const raise = async (): Promise<void> => {
    await vehicle.raise(0);
    await vehicle.report();
  };
  await raise();
  await fault();
  for (let count = 0; count < 3; count += 1) await raise();
  const expected = JSON.stringify(vehicle.getExpectedReceipts());
  const list = () => vehicle.listNotifications(client).catch(() => []);
  await waitFor(async () => JSON.stringify(toReceipts(await list())) === expected, 'the alarms', recoveryMs);
  const ids = (await list()).map(({ id }) => Number(id));
  await waitFor(() => ids.every((id) => receiver.notificationIds.has(id)), 'a delivery of each alarm', recoveryMs);
}
