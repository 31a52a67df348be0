import { type Bus, dataBudgetSpent, subscribe } from '@fleet/bus';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import type { StreamSwitch } from '../use-cases/stream-switch.ts';

/**
 * Subscribes to `data-budget.spent`: limits the running streams of a vehicle as its owning user prefers. Talk is never
 * limited, and recordings only by their end: a sub stream of them may not exist.
 */
export function subscribeDataBudgets(
  bus: Bus,
  deps: {
    readonly registry: Pick<StreamRegistry, 'streams' | 'end'>;
    readonly streamSwitch: Pick<StreamSwitch, 'limitToSub'>;
    readonly onError: (error: unknown) => void;
  },
): { stop(): void } {
  return subscribe(bus, dataBudgetSpent, deps.onError, ({ imei, limit }) => {
    for (const stream of deps.registry.streams) {
      const { kind } = stream.id;
      if (stream.id.imei !== imei || kind === 'talk') continue;
      if (limit === 'refuse') deps.registry.end(stream, 'dataBudgetSpent');
      else if (kind === 'live') deps.streamSwitch.limitToSub(stream).catch(deps.onError);
    }
  });
}
