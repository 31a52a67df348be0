import { type Bus, type DeviceAccessEvent, deviceAccessed, subscribe } from '@fleet/bus';
import { expect } from '@jest/globals';

/** Common fields of all audit events. */
export const anyAuditEvent = {
  id: expect.stringMatching(/^[0-9a-f]{32}$/),
  atMs: expect.any(Number),
  address: expect.stringContaining('127.0.0.1'),
};

/** Records audit events, each once: unconfirmed ones are published again. */
export function captureAuditEvents(bus: Bus): { readonly events: DeviceAccessEvent[]; stop(): void } {
  const sinceMs = Date.now();
  const events: DeviceAccessEvent[] = [];
  const onEvent = (event: DeviceAccessEvent): void => {
    if (event.atMs >= sinceMs && !events.some(({ id }) => id === event.id)) events.push(event);
  };
  return { events, ...subscribe(bus, deviceAccessed, () => undefined, onEvent) };
}
