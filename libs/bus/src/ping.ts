import { Type } from 'typebox';
import type { Bus } from './connection.ts';
import { BusError, defineRequest, request, serve } from './contract.ts';

/** The request `<service>.ping`: one replica of a service says whether it works. */
export const pingRequest = (service: string) =>
  defineRequest({
    subject: `${service}.ping`,
    request: Type.Object({}),
    reply: Type.Object({ service: Type.String(), isWorking: Type.Boolean() }),
  });

/**
 * Answers `<service>.ping` in a queue group, so that any replica may. `isWorking` says whether this one can do its work (its listeners stand, its disk
 * takes bytes); without it, that it answers is enough. To be called once everything listens, and stopped first.
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

/** True when a replica of the service answers in time that it works. */
export async function pingService(bus: Bus, service: string, timeoutMs: number): Promise<boolean> {
  try {
    return (await request(bus, pingRequest(service), {}, { timeoutMs })).isWorking;
  } catch (error) {
    if (error instanceof BusError) return false;
    throw error;
  }
}
