import { type ConfigOf, envSchema, invalidConfigError } from '@fleet/service-kit';
import { readMapSources } from './map-sources.ts';

const url = { type: 'string', optional: true, pattern: '^https?://[^\\s]+$' } as const;
const timeout = { type: 'integer', minimum: 1, maximum: 20_000, default: 3_000 } as const;
const perSecond = { type: 'integer', minimum: 0, maximum: 10_000, default: 0 } as const;

/** Settings of the map providers (docs/reference/maps.md). */
export const mapSettings = envSchema({
  GEOCODER: {
    type: 'string',
    default: 'embedded',
    enum: ['nominatim', 'photon', 'embedded'],
    description: 'provider of addresses; embedded: small built-in data, without network',
  },
  GEOCODER_URL: { ...url, description: 'base URL of the geocoder' },
  GEOCODER_TIMEOUT_MS: { ...timeout, description: 'timeout of a request to the geocoder' },
  GEOCODER_MAX_PER_SECOND: {
    ...perSecond,
    description: 'requests to the geocoder over all replicas; 0: no cap except 1 for the public Nominatim',
  },
  SUGGESTER: {
    type: 'string',
    default: 'embedded',
    enum: ['photon', 'embedded'],
    description: 'provider of suggestions while a user types',
  },
  SUGGESTER_URL: { ...url, description: 'base URL of the suggester' },
  SUGGESTER_TIMEOUT_MS: { ...timeout, description: 'timeout of a request to the suggester' },
  SUGGESTER_MAX_PER_SECOND: { ...perSecond, description: 'requests to the suggester over all replicas; 0: no cap' },
  ROUTER: {
    type: 'string',
    default: 'embedded',
    enum: ['osrm', 'valhalla', 'embedded'],
    description: 'provider of routes; embedded: over ROAD_NETWORK_FILE, straight lines without it',
  },
  ROUTER_URL: { ...url, description: 'base URL of the router' },
  ROUTER_TIMEOUT_MS: { ...timeout, description: 'timeout of a request to the router' },
  ROUTER_MAX_PER_SECOND: { ...perSecond, description: 'requests to the router over all replicas; 0: no cap' },
  MATCHER: {
    type: 'string',
    default: 'embedded',
    enum: ['osrm', 'valhalla', 'embedded'],
    description: "provider that matches positions to roads; embedded: ROAD_NETWORK_FILE and the account's own routes",
  },
  MATCHER_URL: { ...url, description: 'base URL of the matcher' },
  MATCHER_TIMEOUT_MS: { ...timeout, description: 'timeout of a request to the matcher' },
  MATCHER_MAX_PER_SECOND: { ...perSecond, description: 'requests to the matcher over all replicas; 0: no cap' },
  MAPS_CONTACT: {
    type: 'string',
    optional: true,
    minLength: 3,
    description: 'e-mail or URL in the User-Agent of requests to providers; default: PUBLIC_BASE_URL',
  },
  ROAD_NETWORK_FILE: {
    type: 'string',
    optional: true,
    description:
      'GeoJSON LineStrings of roads, with the optional properties `name`, `maxspeed`, `oneway`; read at first use',
  },
  MAP_SOURCES: {
    type: 'string',
    optional: true,
    description:
      'base maps of the dashboard beside its own offline map, as a JSON array (docs/reference/maps.md); the first is shown at first',
  },
});

/** The parsed settings. */
export type MapSettings = ConfigOf<typeof mapSettings>;

const roles = ['GEOCODER', 'SUGGESTER', 'ROUTER', 'MATCHER'] as const;

/** A role that an external provider can have. */
export type MapRole = (typeof roles)[number];

/** Throws a ConfigError if a provider is set without its URL, or if MAP_SOURCES is invalid. */
export function checkMapSettings(settings: MapSettings): void {
  const missing = roles.filter((role) => settings[role] !== 'embedded' && settings[`${role}_URL`] === undefined);
  if (missing.length > 0)
    throw invalidConfigError(missing.map((role) => `${role}=${settings[role]} needs ${role}_URL`));
  readMapSources(settings.MAP_SOURCES);
}
