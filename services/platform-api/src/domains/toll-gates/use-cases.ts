import { AppError, type Page, type Pagination } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { computeBounds } from '../../geometry/bounds.ts';
import { distanceM, type Position } from '../../geometry/positions.ts';
import { parseBboxParameter } from '../../platform/coordinates.ts';
import type { Deps } from '../../platform/deps.ts';
import { sortItems, toSorting } from '../../platform/fields.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import { type Filter, substringFilter } from '../../store/account-repository.ts';
import { readRoutePath } from '../planned-routes/queries.ts';
import { alongPath } from './rules.ts';
import type { ListTollGatesQuery, TollGate, TollGateResponse } from './schema.ts';
import { allGates, pageOfGates, within } from './store.ts';

type Parts = Pick<Deps, 'records'>;

const defaultRadiusKm = 50;
/** Distance within which a gate is on a path. */
const onPathM = 200;

/**
 * Returns a page of toll gates. The default order is nearest first near a position, driving order on a route, and
 * newest first in a rectangle or without a filter.
 */
export async function listTollGates(
  deps: Parts,
  caller: Caller,
  query: ListTollGatesQuery,
  paging: Pagination,
): Promise<Page<TollGateResponse>> {
  checkWays(query);
  const filters = filtersOf(query);
  if (query.route_id !== undefined) return pageIn(await onRoute(deps, caller, query.route_id, filters), query, paging);
  if (query.latitude !== undefined && query.longitude !== undefined)
    return pageIn(await near(deps, [query.latitude, query.longitude], query.radius_km, filters), query, paging);
  const where = { $and: [...filters, ...(query.bbox === undefined ? [] : [within(parseBboxParameter(query.bbox))])] };
  const { items, total } = await pageOfGates(deps.records, { where, sorting: toSorting(query.sort), paging });
  return { items: items.map((gate) => toGateResponse(gate)), total };
}

/** Throws 400 if more than one kind of location is given, or only half of a position. */
function checkWays({ latitude, longitude, radius_km: radiusKm, route_id: routeId, bbox }: ListTollGatesQuery): void {
  const isNear = latitude !== undefined || longitude !== undefined || radiusKm !== undefined;
  if ([isNear, routeId !== undefined, bbox !== undefined].filter(Boolean).length > 1)
    throw new AppError(
      'conflicting_parameters',
      'Only one of latitude and longitude, route_id, and bbox may be given.',
    );
  if (!isNear) return;
  const missing = latitude === undefined ? 'latitude' : longitude === undefined ? 'longitude' : null;
  if (missing === null) return;
  throw new AppError('validation_failed', `The query parameter ${missing} is missing: a position needs both.`, {
    details: [{ path: `/${missing}`, message: 'is missing' }],
  });
}

function filtersOf({ query, state }: ListTollGatesQuery): Filter[] {
  const filters = [substringFilter(query, ['name', 'highway', 'city', 'operator'])];
  if (state !== undefined) {
    const text = state.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    filters.push({ state: { $regex: `^${text}$`, $options: 'i' } });
  }
  return filters;
}

async function near(
  { records }: Parts,
  position: Position,
  radiusKm = defaultRadiusKm,
  filters: readonly Filter[],
): Promise<TollGateResponse[]> {
  const radiusM = radiusKm * 1000;
  const found = await allGates(records, { $and: [...filters, within(computeBounds([position], radiusM))] });
  return found
    .map((gate) => ({ gate, awayM: distanceM(position, positionOf(gate)) }))
    .filter(({ awayM }) => awayM <= radiusM)
    .sort((a, b) => a.awayM - b.awayM || a.gate._id - b.gate._id)
    .map(({ gate }) => toGateResponse(gate));
}

async function onRoute(
  deps: Parts,
  caller: Caller,
  routeId: number,
  filters: readonly Filter[],
): Promise<TollGateResponse[]> {
  const path = await readRoutePath(deps, caller, routeId);
  if (path === null) throw new AppError('not_found', `There is no route ${routeId}.`);
  const found = await allGates(deps.records, { $and: [...filters, within(computeBounds(path, onPathM))] });
  return alongPath(path, found, { positionOf, withinM: onPathM }).map(({ place, alongM }) =>
    toGateResponse(place, { distance_from_start_m: Math.round(alongM) }),
  );
}

const positionOf = ({ latitude, longitude }: TollGate): Position => [latitude, longitude];

function pageIn(
  all: readonly TollGateResponse[],
  { sort }: ListTollGatesQuery,
  { offset, limit }: Pagination,
): Page<TollGateResponse> {
  const sorted = sort === undefined ? all : sortItems(all, toSorting(sort), ({ id }) => id, sortValues);
  return { items: sorted.slice(offset, offset + limit), total: all.length };
}

const sortValues = {
  name: ({ name }: TollGateResponse) => name,
  highway: ({ highway }: TollGateResponse) => highway,
  city: ({ city }: TollGateResponse) => city,
  state: ({ state }: TollGateResponse) => state,
};

const toGateResponse = (gate: TollGate, more: { distance_from_start_m?: number } = {}): TollGateResponse => ({
  ...toRecordResponse(gate),
  name: gate.name,
  latitude: gate.latitude,
  longitude: gate.longitude,
  highway: gate.highway,
  city: gate.city,
  state: gate.state,
  country: gate.country,
  operator: gate.operator,
  direction: gate.direction,
  rates: gate.rates.map(({ vehicleClass, ...rate }) => ({ vehicle_class: vehicleClass, ...rate })),
  effective_from: gate.effectiveFrom,
  source: gate.source,
  ...more,
});
