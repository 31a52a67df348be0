import { ConfigError, type ConfigOf, envSchema } from '@fleet/service-kit';

const url = { type: 'string', optional: true, pattern: '^https?://[^\\s]+$' } as const;
const timeout = { type: 'integer', minimum: 1, maximum: 20_000, default: 3_000 } as const;
const perSecond = { type: 'integer', minimum: 0, maximum: 10_000, default: 0 } as const;

/** Settings of the providers of addresses and roads (docs/reference/maps.md). */
export const mapSettings = envSchema({
  GEOCODER: {
    type: 'string',
    default: 'embedded',
    enum: ['nominatim', 'photon', 'embedded'],
    description: 'who finds addresses; embedded: small data that comes with the product, without network',
  },
  GEOCODER_URL: { ...url, description: 'base URL of the geocoder' },
  GEOCODER_TIMEOUT_MS: { ...timeout, description: 'time limit of a request to the geocoder' },
  GEOCODER_MAX_PER_SECOND: {
    ...perSecond,
    description: 'requests to the geocoder over all replicas; 0: no cap but the 1 that public Nominatim asks for',
  },
  SUGGESTER: {
    type: 'string',
    default: 'embedded',
    enum: ['photon', 'embedded'],
    description: 'who offers places while somebody types',
  },
  SUGGESTER_URL: { ...url, description: 'base URL of the suggester' },
  SUGGESTER_TIMEOUT_MS: { ...timeout, description: 'time limit of a request to the suggester' },
  SUGGESTER_MAX_PER_SECOND: { ...perSecond, description: 'requests to the suggester over all replicas; 0: no cap' },
  ROUTER: {
    type: 'string',
    default: 'embedded',
    enum: ['osrm', 'valhalla', 'embedded'],
    description: 'who draws routes; embedded: over ROAD_NETWORK_FILE, without it straight lines',
  },
  ROUTER_URL: { ...url, description: 'base URL of the router' },
  ROUTER_TIMEOUT_MS: { ...timeout, description: 'time limit of a request to the router' },
  ROUTER_MAX_PER_SECOND: { ...perSecond, description: 'requests to the router over all replicas; 0: no cap' },
  MATCHER: {
    type: 'string',
    default: 'embedded',
    enum: ['osrm', 'valhalla', 'embedded'],
    description: "who snaps positions to roads; embedded: to ROAD_NETWORK_FILE and the account's own routes",
  },
  MATCHER_URL: { ...url, description: 'base URL of the matcher' },
  MATCHER_TIMEOUT_MS: { ...timeout, description: 'time limit of a request to the matcher' },
  MATCHER_MAX_PER_SECOND: { ...perSecond, description: 'requests to the matcher over all replicas; 0: no cap' },
  MAPS_CONTACT: {
    type: 'string',
    optional: true,
    minLength: 3,
    description: 'e-mail or URL that the User-Agent names to providers; PUBLIC_BASE_URL without it',
  },
  ROAD_NETWORK_FILE: {
    type: 'string',
    optional: true,
    description: 'GeoJSON LineStrings of roads, with `name`, `maxspeed`, `oneway` where known; read at first use',
  },
});

/** The settings as read. */
export type MapSettings = ConfigOf<typeof mapSettings>;

const roles = ['GEOCODER', 'SUGGESTER', 'ROUTER', 'MATCHER'] as const;

/** A role that somebody else fills. */
export type MapRole = (typeof roles)[number];

/** Throws a ConfigError where a provider is named without its URL. */
export function checkMapSettings(settings: MapSettings): void {
  const missing = roles.filter((role) => settings[role] !== 'embedded' && settings[`${role}_URL`] === undefined);
  if (missing.length > 0)
    throw new ConfigError(
      `The configuration is wrong: ${missing.map((role) => `${role}=${settings[role]} needs ${role}_URL`).join('; ')}.`,
    );
}
