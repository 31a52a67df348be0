import type { Position } from '../geometry/positions.ts';

/** What kind of vehicle drives. */
export const profiles = ['car', 'truck'] as const;

/** One of `profiles`. */
export type Profile = (typeof profiles)[number];

/** Parts of an address; what is not known is null. */
export interface Components {
  readonly house: string | null;
  readonly road: string | null;
  readonly suburb: string | null;
  readonly city: string | null;
  readonly district: string | null;
  readonly state: string | null;
  readonly postcode: string | null;
  readonly country: string | null;
  /** ISO 3166, two capital letters. */
  readonly countryCode: string | null;
}

/** A place that was found by its text. */
export interface FoundPlace {
  readonly address: string;
  readonly position: Position;
  /** 0 to 1. */
  readonly confidence: number;
  readonly components: Components;
  /** What it is, in the provider's words: `city`, `house`, `geofence`. */
  readonly type: string;
}

/** What stands at a position, or near it. */
export interface FoundAddress {
  readonly address: string;
  /** Of what the address names. */
  readonly position: Position;
  readonly components: Components;
}

/** A place to offer while somebody types. */
export interface FoundSuggestion {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly position: Position;
  readonly type: string;
}

/** What to look for. */
export interface PlaceQuery {
  readonly text: string;
  /** Places near here are wanted more. */
  readonly near?: Position;
  /** ISO 3166, two capital letters. */
  readonly country?: string;
  readonly limit: number;
}

/** A part of a route that is told as one sentence. */
export interface RouteStep {
  readonly instruction: string;
  readonly distanceM: number;
  readonly durationS: number;
}

/** A way through waypoints. */
export interface DrawnRoute {
  readonly path: readonly Position[];
  readonly distanceM: number;
  readonly durationS: number;
  readonly steps: readonly RouteStep[];
  /** `straight_line`: nobody knew roads, so it is the great circle, its length and time estimated. */
  readonly source: 'provider' | 'straight_line';
}

/** What to draw a way through. */
export interface RouteQuery {
  /** Two or more. */
  readonly waypoints: readonly Position[];
  readonly profile: Profile;
  /** Other ways beside the best one, at most. */
  readonly alternatives: number;
}

/** A recorded position. */
export interface TracePoint {
  readonly position: Position;
  readonly timestampMs?: number;
  readonly accuracyM?: number;
}

/** Where a recorded position was on the road. */
export interface MatchedPoint {
  /** On the road; as it was recorded where there is no road. */
  readonly position: Position;
  readonly isMatched: boolean;
  /** From the recorded position to the road. */
  readonly distanceM: number | null;
  readonly roadName: string | null;
  readonly speedLimitKmh: number | null;
  /** The line from the point before up to this one, along the road where it is known. */
  readonly leg: readonly Position[];
}

/** A trace on the road, one point for each recorded one. */
export interface MatchedTrace {
  readonly points: readonly MatchedPoint[];
  /** 0 to 1. */
  readonly confidence: number;
}

/** Finds addresses. */
export interface Geocoder {
  readonly name: string;
  search(query: PlaceQuery): Promise<FoundPlace[]>;
  /** Null where the provider knows nothing near. */
  reverse(position: Position, language?: string): Promise<FoundAddress | null>;
}

/** Offers places while somebody types. */
export interface Suggester {
  readonly name: string;
  suggest(query: PlaceQuery): Promise<FoundSuggestion[]>;
}

/** Draws ways. */
export interface Router {
  readonly name: string;
  /** The best one first; none where there is no way. */
  route(query: RouteQuery): Promise<DrawnRoute[]>;
}

/** Finds the road under a trace. */
export interface Matcher {
  readonly name: string;
  match(trace: readonly TracePoint[], profile: Profile): Promise<MatchedTrace>;
}

const noComponents: Components = {
  house: null,
  road: null,
  suburb: null,
  city: null,
  district: null,
  state: null,
  postcode: null,
  country: null,
  countryCode: null,
};

/** Components of which only some are known; empty text counts as unknown. */
export function componentsOf(known: Partial<Record<keyof Components, string | null | undefined>>): Components {
  const given = Object.entries(known).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return { ...noComponents, ...Object.fromEntries(given) };
}

/** A point of which no road is known. */
export const unmatched = (position: Position): MatchedPoint => ({
  position,
  isMatched: false,
  distanceM: null,
  roadName: null,
  speedLimitKmh: null,
  leg: [position],
});
