import { type DataUsageReported, DurableConsumer, dataUsageReported, dataUsageSubject, decodeJson } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { countSentBytes, type SentBytes, type UsageDeps } from '../domains/data-usage/use-cases.ts';
import { findVehiclesByImei } from '../domains/vehicles/queries.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** Consumes DATA_USAGE: counts the bytes that cameras sent as video for their vehicles. */
export const startDataUsageConsumer = (deps: EventConsumerDeps): Running =>
  new DurableConsumer(deps.bus, {
    stream: 'DATA_USAGE',
    durable: 'platform-data-usage',
    subject: dataUsageSubject('*'),
    onError: (error) => deps.log.warn({ err: error }, 'could not count received bytes yet'),
    handler: async ({ data, subject }) => {
      const reported = parseReport(data);
      // It will never become valid.
      if (reported === null) return deps.log.warn({ subject }, 'invalid report of received bytes');
      await countReport(deps, reported);
    },
  });

function parseReport(data: Uint8Array): DataUsageReported | null {
  try {
    const body = decodeJson(data);
    return dataUsageReported.check(body) ? (body as DataUsageReported) : null;
  } catch {
    // Not JSON: invalid as well.
    return null;
  }
}

/** Counts a report. Bytes of terminals without a vehicle belong to no account and are not counted. */
async function countReport(deps: UsageDeps, { atMs, spans }: DataUsageReported): Promise<void> {
  const vehicles = await findVehiclesByImei(deps.records, [...new Set(spans.map(({ imei }) => imei))]);
  const sent = spans.flatMap(({ imei, channel, session, kind, fromBytes, toBytes }): SentBytes[] => {
    const vehicle = vehicles.get(imei);
    if (vehicle === undefined || !hadTerminalAt(vehicle, atMs)) return [];
    return [{ vehicle, session, kind, channelId: channel, fromBytes, toBytes, atMs }];
  });
  await countSentBytes(deps, sent);
}
