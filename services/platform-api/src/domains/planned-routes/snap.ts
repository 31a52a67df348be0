import { lineLengthM } from '../../geometry/lines.ts';
import type { Position } from '../../geometry/positions.ts';
import { lineOf } from '../../maps/matched-line.ts';
import type { TracePoint } from '../../maps/providers.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { listPathsNear } from './queries.ts';
import type { SnapBody, SnapResponse } from './schema.ts';

/** Distance beyond which own paths are ignored for a trace. */
const maxOffsetM = 100;

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
    listPathsNear(deps, scope, positions, maxOffsetM),
  );
  const line = lineOf(value.points);
  return {
    coordinates: line.map(toPositionResponse),
    points: value.points.map((point, index) => ({
      index,
      ...toPositionResponse(point.position),
      matched: point.isMatched,
      distance_m: point.distanceM === null ? null : roundTo(point.distanceM, 10),
      road_name: point.roadName,
      speed_limit_kmh: point.speedLimitKmh === null ? null : Math.round(point.speedLimitKmh),
    })),
    distance_m: roundTo(lineLengthM(line), 10),
    confidence: roundTo(value.confidence, 1000),
    provider,
    fallback: isFallback,
  };
}

const roundTo = (value: number, factor: number): number => Math.round(value * factor) / factor;

const toPositionResponse = ([lat, lng]: Position): { lat: number; lng: number } => ({ lat, lng });
