import { type Bus, type DeviceAccessEvent, deviceAccessed, subscribe } from '@fleet/bus';
import { expect } from '@jest/globals';

/** What every use has, whichever it is. */
export const anyUse = {
  id: expect.stringMatching(/^[0-9a-f]{32}$/),
  atMs: expect.any(Number),
  address: expect.stringContaining('127.0.0.1'),
};

/** Hears what is told to the audit log from now on, each use once: what JetStream is slow to confirm is sent again. */
export function hearUses(bus: Bus): { readonly told: DeviceAccessEvent[]; stop(): void } {
  const sinceMs = Date.now();
  const told: DeviceAccessEvent[] = [];
  const hear = (use: DeviceAccessEvent): void => {
    if (use.atMs >= sinceMs && !told.some(({ id }) => id === use.id)) told.push(use);
  };
  return { told, ...subscribe(bus, deviceAccessed, () => undefined, hear) };
}
