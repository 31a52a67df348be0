import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { distanceM, type Position } from '../../geometry/positions.ts';
import type { OwnPlace } from '../../maps/embedded/embedded-geocoder.ts';
import { plusCodeOf } from '../../maps/embedded/plus-codes.ts';
import type { Deps } from '../../platform/deps.ts';
import { geofencePlaces, geofencesAt } from '../geofences/queries.ts';
import { lastLocation } from '../last-positions/queries.ts';
import { listNamedPositions } from '../planned-routes/queries.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { addressOf } from './addresses.ts';
import { metres, toComponentsResponse, toWayResponse } from './responses.ts';
import type {
  GeocodeQuery,
  PlaceResponse,
  ReverseResponse,
  RouteQuery,
  RouteResultResponse,
  SuggestionResponse,
  SuggestQuery,
} from './schema.ts';
import { newestAddresses } from './store.ts';

type Parts = Pick<Deps, 'records' | 'database' | 'redis' | 'config' | 'log' | 'maps'>;

/** Returns the address of a position and the account's geofences that contain it. */
export async function reverseGeocode(
  deps: Parts,
  caller: Caller,
  position: Position,
  language?: string,
): Promise<ReverseResponse> {
  const [geofences, found] = await Promise.all([
    geofencesAt(deps, caller, position),
    addressOf(deps, caller, position, language),
  ]);
  const [inside] = geofences;
  // Without a provider's address, the name of a geofence is more useful than the nearest city.
  const isNamed = found.provider === 'embedded' && inside !== undefined;
  const at = isNamed ? position : found.value.position;
  return {
    address: isNamed ? inside.name : found.value.address,
    components: toComponentsResponse(found.value.components),
    latitude: at[0],
    longitude: at[1],
    distance_m: metres(distanceM(position, at)),
    plus_code: plusCodeOf(position),
    geofences: geofences.map(({ _id: id, name }) => ({ id, name })),
    provider: found.provider,
    cached: found.isCached,
    fallback: found.isFallback,
  };
}

/** Returns the places that the account has named: geofences, routes and waypoints. */
async function ownPlaces(deps: Parts, caller: Caller): Promise<OwnPlace[]> {
  const [geofences, routes] = await Promise.all([geofencePlaces(deps, caller), listNamedPositions(deps, caller)]);
  return [
    ...geofences.map(
      ({ id, name, position }): OwnPlace => ({
        id: `geofence:${id}`,
        name,
        detail: 'Geofence',
        position,
        type: 'geofence',
      }),
    ),
    ...routes.map(
      ({ id, name, routeName, position }): OwnPlace => ({
        id,
        name,
        detail: routeName === null ? 'Route' : `Waypoint of ${routeName}`,
        position,
        type: routeName === null ? 'route' : 'waypoint',
      }),
    ),
  ];
}

/**
 * Returns addresses that providers returned before. They reveal where vehicles were, so drivers, who see only their own
 * vehicles, get none.
 */
async function knownAddresses({ database }: Parts, caller: Caller): Promise<OwnPlace[]> {
  if (caller.role === 'driver') return [];
  return (await newestAddresses(database, caller)).map(({ _id, address, position }) => ({
    // The part after the account id: the place and the language.
    id: `address${_id.slice(_id.indexOf(':'))}`,
    name: address,
    detail: '',
    position,
    type: 'address',
  }));
}

/** Returns the account's named places and its cached addresses. */
const knownPlaces = async (deps: Parts, caller: Caller): Promise<OwnPlace[]> =>
  (await Promise.all([ownPlaces(deps, caller), knownAddresses(deps, caller)])).flat();

/** Returns the position in a query, or undefined if there is none; throws 400 for a single coordinate. */
function positionIn(query: { latitude?: number; longitude?: number }): Position | undefined {
  const { latitude, longitude } = query;
  if (latitude !== undefined && longitude !== undefined) return [latitude, longitude];
  if (latitude === undefined && longitude === undefined) return undefined;
  const missing = latitude === undefined ? 'latitude' : 'longitude';
  throw missingParameter(
    missing,
    `The query parameter ${missing} is missing. A position needs latitude and longitude.`,
  );
}

const missingParameter = (name: string, sentence: string): AppError =>
  new AppError('validation_failed', sentence, { details: [{ path: `/${name}`, message: 'is missing' }] });

/** Returns the places that match an address or a name. */
export async function geocode(deps: Parts, caller: Caller, query: GeocodeQuery): Promise<PlaceResponse[]> {
  const near = positionIn(query);
  const requested = {
    text: query.address,
    limit: query.limit ?? 5,
    ...(near === undefined ? {} : { near }),
    ...(query.country === undefined ? {} : { country: query.country.toUpperCase() }),
  };
  const { value, provider, isFallback } = await deps.maps.search(requested, () => knownPlaces(deps, caller));
  return value.map(({ address, position, confidence, components, type }) => ({
    address,
    latitude: position[0],
    longitude: position[1],
    confidence,
    components: toComponentsResponse(components),
    type,
    provider,
    fallback: isFallback,
  }));
}

/** Returns suggestions for a partial address, the account's own places first. */
export async function suggestAddresses(
  deps: Parts,
  caller: Caller,
  query: SuggestQuery,
): Promise<SuggestionResponse[]> {
  const near = positionIn(query);
  const requested = { text: query.query, limit: query.limit ?? 5, ...(near === undefined ? {} : { near }) };
  const found = await deps.maps.suggest(requested, await ownPlaces(deps, caller), () => knownAddresses(deps, caller));
  return found.map(({ position, ...suggestion }) => ({
    ...suggestion,
    latitude: position[0],
    longitude: position[1],
    distance_m: near === undefined ? null : metres(distanceM(near, position)),
  }));
}

/** Calculates a route from the newest position of a vehicle to a destination; throws 404 while it has no position. */
export async function generateRoute(
  deps: Parts,
  caller: Caller,
  query: RouteQuery,
  nowMs = Date.now(),
): Promise<RouteResultResponse> {
  const { vehicle } = await visibleVehicle(deps, caller, query.vehicle_id);
  const given = givenDestination(query);
  const location = vehicle.imei === null ? null : await lastLocation(deps, vehicle.imei);
  const isKnown = location !== null && (location.gpsValid || location.latitude !== 0 || location.longitude !== 0);
  if (!isKnown) throw new AppError('not_found', `Vehicle ${query.vehicle_id} has no position yet.`);
  const destination =
    typeof given === 'string' ? await placeOf(deps, caller, given) : { position: given, address: null };
  const origin: Position = [location.latitude, location.longitude];
  const { value, provider, isFallback } = await deps.maps.route({
    waypoints: [origin, destination.position],
    profile: query.profile ?? 'car',
    alternatives: query.alternatives ?? 0,
  });
  const [best, ...others] = value;
  if (best === undefined) throw new Error('the embedded router returned no route');
  return {
    vehicle_id: query.vehicle_id,
    origin: { latitude: origin[0], longitude: origin[1], timestamp: location.timestamp },
    destination: {
      latitude: destination.position[0],
      longitude: destination.position[1],
      address: destination.address,
    },
    ...toWayResponse(best),
    eta: new Date(nowMs + best.durationS * 1000).toISOString(),
    steps: best.steps.map((step) => ({
      instruction: step.instruction,
      distance_m: metres(step.distanceM),
      duration_seconds: Math.round(step.durationS),
    })),
    alternatives: others.slice(0, query.alternatives ?? 0).map(toWayResponse),
    provider,
    fallback: isFallback,
  };
}

/** Returns the position or the address of the destination; throws 400 for both or neither. */
function givenDestination(query: RouteQuery): Position | string {
  const position = positionIn(query);
  if (position !== undefined && query.address !== undefined)
    throw new AppError('conflicting_parameters', 'The destination is a position or an address, not both.');
  const destination = position ?? query.address;
  if (destination !== undefined) return destination;
  throw missingParameter('latitude', 'The destination is missing. Send latitude and longitude, or address.');
}

async function placeOf(deps: Parts, caller: Caller, address: string) {
  const [place] = await geocode(deps, caller, { address, limit: 1 });
  if (place === undefined) throw new AppError('not_found', 'The address was not found.');
  return { position: [place.latitude, place.longitude] as const, address: place.address };
}
