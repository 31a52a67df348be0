import type { Position } from '../../geometry/positions.ts';
import {
  type Components,
  componentsOf,
  type FoundAddress,
  type FoundPlace,
  type Geocoder,
  type PlaceQuery,
} from '../providers.ts';
import { isObject, type JsonObject, looseNumberOf, objectsOf, positionOf, textOf } from '../reading.ts';
import { type HttpProvider, unreadable } from './http-provider.ts';

/** Half the side of the box around a bias. Places in the box come first. */
const biasDeg = 1;

/** Calls Nominatim's `/search` and `/reverse` in the format jsonv2. */
export class Nominatim implements Geocoder {
  readonly name = 'nominatim';
  readonly #http: HttpProvider;

  constructor(http: HttpProvider) {
    this.#http = http;
  }

  async search({ text, near, country, limit }: PlaceQuery): Promise<FoundPlace[]> {
    const response = await this.#http.get('/search', {
      q: text,
      format: 'jsonv2',
      addressdetails: 1,
      limit,
      countrycodes: country?.toLowerCase(),
      viewbox: near && boxAround(near),
    });
    if (!Array.isArray(response)) throw unreadable('list of places');
    return objectsOf(response).flatMap((place) => {
      const position = placeAt(place);
      const address = textOf(place['display_name']);
      if (position === null || address === null) return [];
      const importance = looseNumberOf(place['importance']) ?? 0;
      return [
        {
          address,
          position,
          confidence: Math.max(0, Math.min(1, importance)),
          components: partsOf(place['address']),
          type: textOf(place['addresstype']) ?? textOf(place['type']) ?? 'place',
        },
      ];
    });
  }

  async reverse([latitude, longitude]: Position, language?: string): Promise<FoundAddress | null> {
    const response = await this.#http.get('/reverse', {
      lat: latitude,
      lon: longitude,
      format: 'jsonv2',
      addressdetails: 1,
      'accept-language': language,
    });
    if (!isObject(response)) throw unreadable('address');
    // A position in the sea has no address: status 200 with `{"error": "Unable to geocode"}`.
    if ('error' in response) return null;
    const position = placeAt(response);
    const address = textOf(response['display_name']);
    if (position === null || address === null) throw unreadable('address');
    return { address, position, components: partsOf(response['address']) };
  }
}

// Nominatim rejects coordinates beyond the poles or the date line.
const boxAround = ([latitude, longitude]: Position): string =>
  [
    Math.max(-180, longitude - biasDeg),
    Math.min(90, latitude + biasDeg),
    Math.min(180, longitude + biasDeg),
    Math.max(-90, latitude - biasDeg),
  ].join(',');

const placeAt = (place: JsonObject): Position | null =>
  positionOf(looseNumberOf(place['lat']), looseNumberOf(place['lon']));

function partsOf(address: unknown): Components {
  const parts: JsonObject = isObject(address) ? address : {};
  const first = (...names: string[]): string | null => {
    for (const name of names) if (textOf(parts[name]) !== null) return textOf(parts[name]);
    return null;
  };
  return componentsOf({
    house: first('house_number', 'house_name'),
    road: first('road', 'pedestrian', 'path'),
    suburb: first('suburb', 'neighbourhood', 'quarter', 'city_district'),
    city: first('city', 'town', 'village', 'municipality', 'hamlet'),
    district: first('state_district', 'county', 'district'),
    state: first('state', 'province', 'region'),
    postcode: first('postcode'),
    country: first('country'),
    countryCode: first('country_code')?.toUpperCase() ?? null,
  });
}
