import { Type } from 'typebox';
import type { Bus } from './connection.ts';
import { BusError, defineRequest, request, serve } from './contract.ts';

// The request `<service>.ping`: one replica of a service reports whether it works.
const pingRequest = (service: string) =>
  defineRequest({
    subject: `${service}.ping`,
    request: Type.Object({}),
    reply: Type.Object({ service: Type.String(), isWorking: Type.Boolean() }),
  });

/**
 * Serves `<service>.ping` in a queue group. `isWorking` reports whether this replica can work (open listeners, writable
 * disk); by default a reply is enough. Start it last and stop it first.
 */
export function servePing(
  bus: Bus,
  service: string,
  options: { onError: (error: unknown) => void; isWorking?: () => boolean | Promise<boolean> },
): { stop(): Promise<void> } {
  return serve(bus, pingRequest(service), { queue: service, onError: options.onError }, async () => ({
    service,
    isWorking: (await options.isWorking?.()) ?? true,
  }));
}

/** Returns true if a replica of the service replies in time that it works. */
export async function pingService(bus: Bus, service: string, timeoutMs: number): Promise<boolean> {
  try {
    return (await request(bus, pingRequest(service), {}, { timeoutMs })).isWorking;
  } catch (error) {
    if (error instanceof BusError) return false;
    throw error;
  }
}
