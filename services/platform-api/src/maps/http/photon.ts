import type { Position } from '../../geometry/positions.ts';
import {
  componentsOf,
  type FoundAddress,
  type FoundPlace,
  type FoundSuggestion,
  type Geocoder,
  type PlaceQuery,
  type Suggester,
} from '../providers.ts';
import { isObject, type JsonObject, numberOf, objectsOf, positionOf, textOf } from '../reading.ts';
import { type HttpProvider, unreadable } from './http-provider.ts';

/** Languages of Photon; it rejects others. */
const languages = new Set(['en', 'de', 'fr']);

/** Calls Photon's `/api` and `/reverse`, which return GeoJSON. */
export class Photon implements Geocoder, Suggester {
  readonly name = 'photon';
  readonly #http: HttpProvider;

  constructor(http: HttpProvider) {
    this.#http = http;
  }

  async search(query: PlaceQuery): Promise<FoundPlace[]> {
    return (await this.#find(query)).map((feature, rank) => ({
      address: addressOf(feature.properties),
      position: feature.position,
      // Photon returns an order, but no score.
      confidence: Math.max(0.1, 0.9 - rank * 0.1),
      components: partsOf(feature.properties),
      type: typeOf(feature.properties),
    }));
  }

  async suggest(query: PlaceQuery): Promise<FoundSuggestion[]> {
    return (await this.#find(query)).map(({ position, properties }) => {
      const [title = '', ...rest] = linesOf(properties);
      const id = `${textOf(properties['osm_type']) ?? ''}${numberOf(properties['osm_id']) ?? position.join(',')}`;
      return { id: `photon:${id}`, title, subtitle: rest.join(', '), position, type: typeOf(properties) };
    });
  }

  async reverse([latitude, longitude]: Position, language?: string): Promise<FoundAddress | null> {
    const lang = language?.slice(0, 2).toLowerCase();
    const response = await this.#http.get('/reverse', {
      lat: latitude,
      lon: longitude,
      lang: lang !== undefined && languages.has(lang) ? lang : undefined,
    });
    const found = featuresOf(response)[0];
    if (found === undefined) return null;
    return { address: addressOf(found.properties), position: found.position, components: partsOf(found.properties) };
  }

  async #find({ text, near, country, limit }: PlaceQuery): Promise<Feature[]> {
    // Photon has no filter by country, so more places are requested, and others are removed.
    const response = await this.#http.get('/api', {
      q: text,
      limit: country === undefined ? limit : limit * 4,
      lat: near?.[0],
      lon: near?.[1],
    });
    return featuresOf(response)
      .filter(({ properties }) => country === undefined || textOf(properties['countrycode'])?.toUpperCase() === country)
      .slice(0, limit);
  }
}

interface Feature {
  readonly position: Position;
  readonly properties: JsonObject;
}

function featuresOf(response: unknown): Feature[] {
  if (!isObject(response) || !Array.isArray(response['features'])) throw unreadable('features');
  return objectsOf(response['features']).flatMap(({ geometry, properties }) => {
    const coordinates: unknown = isObject(geometry) ? geometry['coordinates'] : undefined;
    if (!Array.isArray(coordinates) || !isObject(properties)) return [];
    const position = positionOf(numberOf(coordinates[1]), numberOf(coordinates[0]));
    return position === null || linesOf(properties).length === 0 ? [] : [{ position, properties }];
  });
}

const typeOf = (properties: JsonObject): string =>
  textOf(properties['type']) ?? textOf(properties['osm_value']) ?? 'place';

/** Returns the parts of an address from the smallest to the largest, without duplicates. */
function linesOf(properties: JsonObject): string[] {
  const text = (name: string): string | null => textOf(properties[name]);
  const street = text('street');
  const house = text('housenumber');
  const lines = [
    text('name'),
    street === null ? null : house === null ? street : `${house} ${street}`,
    text('district'),
    text('city'),
    text('state'),
    text('postcode'),
    text('country'),
  ];
  return [...new Set(lines.filter((line) => line !== null))];
}

const addressOf = (properties: JsonObject): string => linesOf(properties).join(', ');

function partsOf(properties: JsonObject) {
  const text = (name: string): string | null => textOf(properties[name]);
  const named = (type: string): string | null => (text('type') === type ? text('name') : null);
  return componentsOf({
    house: text('housenumber'),
    road: text('street') ?? named('street'),
    suburb: text('district') ?? named('district'),
    city: text('city') ?? named('city'),
    district: text('county') ?? named('county'),
    state: text('state') ?? named('state'),
    postcode: text('postcode'),
    country: text('country') ?? named('country'),
    countryCode: text('countrycode')?.toUpperCase() ?? null,
  });
}
