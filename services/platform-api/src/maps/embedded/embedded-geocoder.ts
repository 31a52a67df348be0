import { bearingDeg, compassPoint, distanceM, type Position } from '../../geometry/positions.ts';
import {
  componentsOf,
  type FoundAddress,
  type FoundPlace,
  type FoundSuggestion,
  type PlaceQuery,
} from '../providers.ts';
import { type BuiltInPlace, BuiltInPlaces, labelOf } from './places.ts';
import { plusCodeOf, positionOfPlusCode } from './plus-codes.ts';
import { similarity, TrigramIndex } from './trigrams.ts';

/** A place that the account knows: a geofence, a waypoint, an address from an earlier look-up. */
export interface OwnPlace {
  readonly id: string;
  readonly name: string;
  /** Further description for people. */
  readonly detail: string;
  readonly position: Position;
  /** An `address` ranks like other places. The other types were drawn by users of the account and come first. */
  readonly type: 'geofence' | 'route' | 'waypoint' | 'address';
}

/** Share of the text that a name must contain to be a result. */
const containedAtLeast = 0.6;
/** Within this distance of a city's centre its name counts as the address's city. */
const cityRadiusM = 10_000;
/** Beyond this distance from any city even the country is a guess. */
const countryRadiusM = 50_000;

interface Candidate {
  readonly place: FoundPlace;
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly isOwn: boolean;
  readonly score: number;
  readonly population: number;
}

/** Finds addresses without a network, from the account's own places and the built-in cities. */
export class EmbeddedGeocoder {
  readonly name = 'embedded';

  /** Returns distance and direction from the nearest known city. */
  async reverse(position: Position): Promise<FoundAddress> {
    const { place, distanceM: awayM } = (await BuiltInPlaces.load()).nearest(position);
    const isClose = awayM < 1_000;
    const direction = compassPoint(bearingDeg(place.position, position));
    const label = labelOf(place);
    return {
      address: isClose ? label : `${toKmResponse(awayM)} km ${direction} of ${label}`,
      position: place.position,
      components: awayM > countryRadiusM ? componentsOf({}) : componentsIn(place, awayM <= cityRadiusM),
    };
  }

  async search(query: PlaceQuery, own: readonly OwnPlace[]): Promise<FoundPlace[]> {
    const exact = exactPlace(query.text);
    if (exact !== null) return [exact];
    return (await this.#candidates(query, own, false)).slice(0, query.limit).map(({ place }) => place);
  }

  /** Returns suggestions, own places first. */
  async suggest(query: PlaceQuery, own: readonly OwnPlace[], { isOwnOnly = false } = {}): Promise<FoundSuggestion[]> {
    const exact = exactPlace(query.text);
    if (exact !== null && !isOwnOnly) {
      const { address, position, type } = exact;
      return [{ id: `${type}:${plusCodeOf(position)}`, title: address, subtitle: '', position, type }];
    }
    const found = await this.#candidates(query, own, true);
    return found
      .filter(({ isOwn }) => isOwn || !isOwnOnly)
      .sort((a, b) => Number(b.isOwn) - Number(a.isOwn))
      .slice(0, query.limit)
      .map(({ id, title, subtitle, place }) => ({ id, title, subtitle, position: place.position, type: place.type }));
  }

  async #candidates(query: PlaceQuery, own: readonly OwnPlace[], isOpen: boolean): Promise<Candidate[]> {
    const places = await BuiltInPlaces.load();
    const options = { isOpen, atLeast: containedAtLeast };
    const ofOwn = new TrigramIndex(own.map(({ name, detail }) => `${name} ${detail}`))
      .search(query.text, options)
      .map(({ at, contained }) => ownCandidate(own[at] as OwnPlace, query.text, contained, places));
    const builtIn = places
      .search(query.text, options)
      .map(({ place, contained }) => builtInCandidate(place, query.text, contained));
    return [...ofOwn, ...builtIn]
      .filter(({ place }) => query.country === undefined || place.components.countryCode === query.country)
      .sort((a, b) => compare(a, b, query.near));
  }
}

/** Orders by match if it differs clearly, then by distance, or else by population. */
function compare(a: Candidate, b: Candidate, near: Position | undefined): number {
  const step = (score: number): number => Math.round(score * 10);
  const byScore = step(b.score) - step(a.score);
  if (byScore !== 0) return byScore;
  if (near === undefined) return Number(b.isOwn) - Number(a.isOwn) || b.population - a.population;
  return distanceM(a.place.position, near) - distanceM(b.place.position, near);
}

/**
 * Scores a place. The query may be the name alone or with its country, so all of it must be in the label, and it must
 * resemble the name.
 */
const scoreOf = (text: string, name: string, label: string, contained: number): number =>
  0.6 * contained + 0.4 * Math.max(similarity(text, name), similarity(text, label));

function builtInCandidate(place: BuiltInPlace, text: string, contained: number): Candidate {
  const label = labelOf(place);
  const score = scoreOf(text, place.name, label, contained);
  return {
    place: {
      address: label,
      position: place.position,
      confidence: roundedScore(score),
      components: componentsIn(place, true),
      type: 'city',
    },
    id: `city:${plusCodeOf(place.position)}`,
    title: place.name,
    subtitle: label.slice(place.name.length + 2),
    isOwn: false,
    score,
    population: place.population,
  };
}

function ownCandidate(own: OwnPlace, text: string, contained: number, places: BuiltInPlaces): Candidate {
  const score = scoreOf(text, own.name, `${own.name} ${own.detail}`, contained);
  const { place, distanceM: awayM } = places.nearest(own.position);
  return {
    place: {
      address: own.name,
      position: own.position,
      confidence: roundedScore(score),
      components: awayM > countryRadiusM ? componentsOf({}) : componentsIn(place, awayM <= cityRadiusM),
      type: own.type,
    },
    id: own.id,
    title: own.name,
    subtitle: own.detail,
    isOwn: own.type !== 'address',
    score,
    population: 0,
  };
}

/** Two numbers; small ones may be written with an exponent. */
const positionPair =
  /^\s*(-?\d{1,2}(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*[,;\s]\s*(-?\d{1,3}(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*$/;

/** Parses text that is itself a position: `latitude,longitude` or a full Plus Code. */
function exactPlace(text: string): FoundPlace | null {
  const pair = positionPair.exec(text);
  const given: Position | null = pair === null ? null : [Number(pair[1]), Number(pair[2])];
  const isPair = given !== null && Math.abs(given[0]) <= 90 && Math.abs(given[1]) <= 180;
  const position = isPair ? given : positionOfPlusCode(text);
  if (position === null) return null;
  return {
    address: isPair ? `${position[0]}, ${position[1]}` : text.trim().toUpperCase(),
    position,
    confidence: 1,
    components: componentsOf({}),
    type: isPair ? 'coordinates' : 'plus_code',
  };
}

const componentsIn = (place: BuiltInPlace, isInCity: boolean) =>
  componentsOf({
    city: isInCity ? place.name : null,
    state: place.state,
    country: place.country,
    countryCode: place.countryCode,
  });

const toKmResponse = (metres: number): string =>
  metres < 10_000 ? (metres / 1000).toFixed(1) : (metres / 1000).toFixed(0);

const roundedScore = (score: number): number => Math.round(Math.min(1, score) * 1000) / 1000;
