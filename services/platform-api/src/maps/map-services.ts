import type { Logger } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Position } from '../geometry/positions.ts';
import { EmbeddedGeocoder, type OwnPlace } from './embedded/embedded-geocoder.ts';
import { EmbeddedMatcher } from './embedded/embedded-matcher.ts';
import { EmbeddedRouter } from './embedded/embedded-router.ts';
import { roadsOf } from './embedded/road-source.ts';
import { searchLimit } from './embedded/search-limit.ts';
import { HttpProvider } from './http/http-provider.ts';
import { Nominatim } from './http/nominatim.ts';
import { Osrm } from './http/osrm.ts';
import { Photon } from './http/photon.ts';
import { SharedRateLimiter } from './http/shared-rate-limiter.ts';
import { Valhalla } from './http/valhalla.ts';
import type { MapRole, MapSettings } from './map-settings.ts';
import { matchWindowed } from './match-windowed.ts';
import type {
  DrawnRoute,
  FoundAddress,
  FoundPlace,
  FoundSuggestion,
  Geocoder,
  MatchedTrace,
  Matcher,
  PlaceQuery,
  Profile,
  RouteQuery,
  Router,
  Suggester,
  TracePoint,
} from './providers.ts';

/** A result, with the provider that returned it. */
export interface Resolved<T> {
  readonly value: T;
  readonly provider: string;
  /** True if the configured provider failed or had no result, and the embedded one was used. */
  readonly isFallback: boolean;
}

interface Parts {
  readonly log: Logger;
  readonly redis: Redis;
}

/** The public server, whose terms of use limit requests. */
const publicNominatim = 'nominatim.openstreetmap.org';

/**
 * Finds addresses and roads with the configured providers, and with the embedded ones wherever those fail. Callers get
 * no errors of providers.
 */
export class MapServices {
  readonly #log: Logger;
  readonly #geocoder: Geocoder | null;
  readonly #suggester: Suggester | null;
  readonly #router: Router | null;
  readonly #matcher: Matcher | null;
  readonly #embeddedGeocoder = new EmbeddedGeocoder();
  readonly #embeddedRouter: EmbeddedRouter;
  readonly #embeddedMatcher: EmbeddedMatcher;
  readonly #http: HttpProvider[] = [];

  constructor(settings: MapSettings & { readonly PUBLIC_BASE_URL: string }, parts: Parts) {
    this.#log = parts.log;
    const http = (role: MapRole): HttpProvider => {
      const provider = httpProvider(settings, role, parts.redis);
      this.#http.push(provider);
      return provider;
    };
    this.#geocoder =
      settings.GEOCODER === 'nominatim'
        ? new Nominatim(http('GEOCODER'))
        : settings.GEOCODER === 'photon'
          ? new Photon(http('GEOCODER'))
          : null;
    this.#suggester = settings.SUGGESTER === 'photon' ? new Photon(http('SUGGESTER')) : null;
    this.#router = roadProvider(settings.ROUTER, () => http('ROUTER'));
    this.#matcher = roadProvider(settings.MATCHER, () => http('MATCHER'));
    const roads = roadsOf(settings.ROAD_NETWORK_FILE, parts.log);
    const limit = searchLimit();
    this.#embeddedRouter = new EmbeddedRouter(roads, limit);
    this.#embeddedMatcher = new EmbeddedMatcher(roads, limit);
  }

  /** True if results are worth caching: those of the embedded provider cost nothing. */
  get hasGeocoder(): boolean {
    return this.#geocoder !== null;
  }

  reverse(position: Position, language?: string): Promise<Resolved<FoundAddress>> {
    return this.#request(
      this.#geocoder,
      (geocoder) => geocoder.reverse(position, language),
      () => this.#embeddedGeocoder.reverse(position),
    );
  }

  /** Uses the built-in places, whatever provider is configured. */
  nearestPlace(position: Position): Promise<FoundAddress> {
    return this.#embeddedGeocoder.reverse(position);
  }

  search(query: PlaceQuery, own: () => Promise<readonly OwnPlace[]>): Promise<Resolved<FoundPlace[]>> {
    return this.#request(
      this.#geocoder,
      (geocoder) => geocoder.search(query),
      async () => this.#embeddedGeocoder.search(query, await own()),
    );
  }

  /** Suggests own places first, with any provider. Known addresses are searched only by the embedded one. */
  async suggest(
    query: PlaceQuery,
    own: readonly OwnPlace[],
    addresses: () => Promise<readonly OwnPlace[]>,
  ): Promise<FoundSuggestion[]> {
    const { value, provider } = await this.#request(
      this.#suggester,
      (suggester) => suggester.suggest(query),
      async () => this.#embeddedGeocoder.suggest(query, [...own, ...(await addresses())]),
    );
    if (provider === 'embedded') return value;
    const ofOwn = await this.#embeddedGeocoder.suggest(query, own, { isOwnOnly: true });
    return [...ofOwn, ...value].slice(0, query.limit);
  }

  /** Returns at least one route; the last resort is a straight line. */
  route(query: RouteQuery): Promise<Resolved<DrawnRoute[]>> {
    return this.#request(
      this.#router,
      async (router) => {
        const routes = await router.route(query);
        return routes.length === 0 ? null : routes;
      },
      () => this.#embeddedRouter.route(query),
    );
  }

  match(
    trace: readonly TracePoint[],
    profile: Profile,
    ownPaths: () => Promise<readonly (readonly Position[])[]>,
  ): Promise<Resolved<MatchedTrace>> {
    return this.#request(
      this.#matcher,
      (matcher) => matchWindowed(trace, (part) => matcher.match(part, profile)),
      async () => this.#embeddedMatcher.match(trace, await ownPaths()),
    );
  }

  stop(): void {
    for (const each of this.#http) each.stop();
  }

  /** Uses the embedded provider if none is configured, if the configured one fails, and if it has no result (null). */
  async #request<P extends { readonly name: string }, T>(
    provider: P | null,
    call: (provider: P) => Promise<T | null>,
    embedded: () => Promise<T>,
  ): Promise<Resolved<T>> {
    if (provider === null) return { value: await embedded(), provider: 'embedded', isFallback: false };
    try {
      const value = await call(provider);
      if (value !== null) return { value, provider: provider.name, isFallback: false };
    } catch (error) {
      this.#log.warn({ err: error, provider: provider.name }, 'a map provider failed, using the embedded one');
    }
    return { value: await embedded(), provider: 'embedded', isFallback: true };
  }
}

function roadProvider(name: 'osrm' | 'valhalla' | 'embedded', http: () => HttpProvider): (Osrm | Valhalla) | null {
  if (name === 'embedded') return null;
  return name === 'osrm' ? new Osrm(http()) : new Valhalla(http());
}

function httpProvider(
  settings: MapSettings & { readonly PUBLIC_BASE_URL: string },
  role: MapRole,
  redis: Redis,
): HttpProvider {
  const url = settings[`${role}_URL`];
  if (url === undefined) throw new Error(`${role}_URL is missing`);
  const requested = settings[`${role}_MAX_PER_SECOND`];
  const perSecond = new URL(url).hostname === publicNominatim ? 1 : requested;
  return new HttpProvider({
    url,
    timeoutMs: settings[`${role}_TIMEOUT_MS`],
    userAgent: `fleet-platform/0.1 (${settings.MAPS_CONTACT ?? settings.PUBLIC_BASE_URL})`,
    ...(perSecond === 0 ? {} : { limiter: new SharedRateLimiter(redis, `map-turn:${role.toLowerCase()}`, perSecond) }),
  });
}
