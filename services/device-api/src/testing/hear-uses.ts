import { type Bus, type DeviceUse, deviceUsed, listenFor } from '@fleet/bus';
import { expect } from '@jest/globals';

/** What every use has, whichever it is. */
export const anyUse = {
  id: expect.stringMatching(/^[0-9a-f]{32}$/),
  atMs: expect.any(Number),
  address: expect.stringContaining('127.0.0.1'),
};

/** Hears what is told to the audit log from now on, each use once: what JetStream is slow to confirm is sent again. */
export function hearUses(bus: Bus): { readonly told: DeviceUse[]; stop(): void } {
  const sinceMs = Date.now();
  const told: DeviceUse[] = [];
  const hear = (use: DeviceUse): void => {
    if (use.atMs >= sinceMs && !told.some(({ id }) => id === use.id)) told.push(use);
  };
  return { told, ...listenFor(bus, deviceUsed, () => undefined, hear) };
}
