import { lineLengthM } from '../../geometry/lines.ts';
import type { Position } from '../../geometry/positions.ts';
import { lineOf } from '../../maps/matched-line.ts';
import type { TracePoint } from '../../maps/providers.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { pathsNear } from './queries.ts';
import type { SnapBody, SnapResponse } from './schema.ts';

/** Distance beyond which own paths are ignored for a trace. */
const nearM = 100;

/** Matches a trace to roads, or to the account's own routes where no road is known. */
export async function snapToRoad(
  deps: Pick<Deps, 'records' | 'maps'>,
  scope: Scope,
  { coordinates, profile = 'car' }: SnapBody,
): Promise<SnapResponse> {
  const trace = coordinates.map(
    ({ lat, lng, timestamp, accuracy_m: accuracyM }): TracePoint => ({
      position: [lat, lng],
      ...(timestamp === undefined ? {} : { timestampMs: timestamp }),
      ...(accuracyM === undefined ? {} : { accuracyM }),
    }),
  );
  const positions = trace.map(({ position }) => position);
  const { value, provider, isFallback } = await deps.maps.match(trace, profile, () =>
    pathsNear(deps, scope, positions, nearM),
  );
  const line = lineOf(value.points);
  return {
    coordinates: line.map(toPositionResponse),
    points: value.points.map((point, index) => ({
      index,
      ...toPositionResponse(point.position),
      matched: point.isMatched,
      distance_m: point.distanceM === null ? null : roundedTo(point.distanceM, 10),
      road_name: point.roadName,
      speed_limit_kmh: point.speedLimitKmh === null ? null : Math.round(point.speedLimitKmh),
    })),
    distance_m: roundedTo(lineLengthM(line), 10),
    confidence: roundedTo(value.confidence, 1000),
    provider,
    fallback: isFallback,
  };
}

const roundedTo = (value: number, parts: number): number => Math.round(value * parts) / parts;

const toPositionResponse = ([lat, lng]: Position): { lat: number; lng: number } => ({ lat, lng });
