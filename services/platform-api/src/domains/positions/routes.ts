import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RequestContext } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehicleIdParams } from '../../platform/schemas.ts';
import { csvFile, gpxFile, type HistoryFile } from './export.ts';
import { historyResponseSchema, locationsQuery, tripsQuery, tripsResponseSchema } from './schema.ts';
import { type FindVehicleEvents, type History, locationsOf, tripsOf } from './use-cases.ts';

const tags = ['History'];

export const positionRoutes = (deps: Deps, findEvents: FindVehicleEvents): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/locations',
    operationId: 'listVehicleLocations',
    summary: 'List positions of a vehicle',
    description:
      'Positions are sorted by device time, oldest first, and include all terminals of the vehicle. Reports that arrived late are listed at their own time. With format gpx or csv the response is a file, and the header X-Next-From contains where to continue.',
    tags,
    params: vehicleIdParams,
    query: locationsQuery,
    response: historyResponseSchema,
    contentType: ['application/json', 'application/gpx+xml', 'text/csv'],
    handle: async ({ params, query, context }) => {
      const history = await locationsOf(deps, getCaller(context), params.vehicleId, query);
      if (query.format === 'json') return toHistoryResponse(history);
      await sendFile(context, fileOf(history, query.format), history.nextFromMs);
      return undefined;
    },
  }),
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/trips',
    operationId: 'listVehicleTrips',
    summary: 'List trips of a vehicle',
    description:
      'Lists the trips that began in the window, oldest first. A trip ends after 5 minutes of standstill, or when the ignition is switched off. Trips under 300 m or 60 seconds are left out. A trip in progress has no end. With `stops=true`, `meta.stops` lists where the vehicle stood after each trip.',
    tags,
    params: vehicleIdParams,
    query: tripsQuery,
    response: tripsResponseSchema,
    handle: async ({ params, query, context }) => {
      const { trips, stops } = await tripsOf(deps, getCaller(context), params.vehicleId, query, findEvents);
      return query.stops === true ? { data: trips, meta: { stops } } : { data: trips };
    },
  }),
];

const toHistoryResponse = ({ points, nextFromMs }: History) => ({
  data: points,
  meta: { truncated: nextFromMs !== null, next_from: nextFromMs },
});

function fileOf({ points, vehicle, window }: History, format: 'gpx' | 'csv'): HistoryFile {
  const frame = { vehicleNo: vehicle.vehicleNo, name: vehicle.name, ...window };
  return format === 'gpx' ? gpxFile(points, frame) : csvFile(points, frame);
}

async function sendFile(
  { response, request }: RequestContext,
  file: HistoryFile,
  nextFromMs: number | null,
): Promise<void> {
  response.set({
    'Content-Type': file.contentType,
    'Content-Disposition': `attachment; filename="${file.fileName}"`,
    'Cache-Control': 'private, no-store',
    ...(nextFromMs === null ? {} : { 'X-Next-From': String(nextFromMs) }),
  });
  if (request.method === 'HEAD') return void response.end();
  try {
    await pipeline(Readable.from(file.parts), response);
  } catch (error) {
    // A client that disconnects needs no error.
    if (!response.destroyed) throw error;
  }
}
