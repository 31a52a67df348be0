import { type Bus, type DeviceAccessEvent, deviceAccessed, subscribe } from '@fleet/bus';
import { expect } from '@jest/globals';

/** Common fields of all audit events. */
export const anyUse = {
  id: expect.stringMatching(/^[0-9a-f]{32}$/),
  atMs: expect.any(Number),
  address: expect.stringContaining('127.0.0.1'),
};

/** Records audit events, each once: unconfirmed ones are published again. */
export function hearUses(bus: Bus): { readonly told: DeviceAccessEvent[]; stop(): void } {
  const sinceMs = Date.now();
  const told: DeviceAccessEvent[] = [];
  const hear = (use: DeviceAccessEvent): void => {
    if (use.atMs >= sinceMs && !told.some(({ id }) => id === use.id)) told.push(use);
  };
  return { told, ...subscribe(bus, deviceAccessed, () => undefined, hear) };
}
