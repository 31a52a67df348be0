import type { Position } from '../geometry/positions.ts';

/** Vehicle profiles for routes. */
export const profiles = ['car', 'truck'] as const;

/** One of `profiles`. */
export type Profile = (typeof profiles)[number];

/** Parts of an address; null if unknown. */
export interface Components {
  readonly house: string | null;
  readonly road: string | null;
  readonly suburb: string | null;
  readonly city: string | null;
  readonly district: string | null;
  readonly state: string | null;
  readonly postcode: string | null;
  readonly country: string | null;
  /** ISO 3166 code, two capital letters. */
  readonly countryCode: string | null;
}

/** A place found by text. */
export interface FoundPlace {
  readonly address: string;
  readonly position: Position;
  /** Score from 0 to 1. */
  readonly confidence: number;
  readonly components: Components;
  /** Type in the provider's terms: `city`, `house`, `geofence`. */
  readonly type: string;
}

/** The address at or near a position. */
export interface FoundAddress {
  readonly address: string;
  /** Position of the place that the address names. */
  readonly position: Position;
  readonly components: Components;
}

/** A suggestion while a user types. */
export interface FoundSuggestion {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly position: Position;
  readonly type: string;
}

/** A text search. */
export interface PlaceQuery {
  readonly text: string;
  /** Places near this position rank higher. */
  readonly near?: Position;
  /** ISO 3166 code, two capital letters. */
  readonly country?: string;
  readonly limit: number;
}

/** A section of a route with one instruction. */
export interface RouteStep {
  readonly instruction: string;
  readonly distanceM: number;
  readonly durationS: number;
}

/** A route through waypoints. */
export interface DrawnRoute {
  readonly path: readonly Position[];
  readonly distanceM: number;
  readonly durationS: number;
  readonly steps: readonly RouteStep[];
  /** `straight_line`: no roads are known, so the route is the great circle with estimated length and time. */
  readonly source: 'provider' | 'straight_line';
}

/** Request for a route. */
export interface RouteQuery {
  /** At least two. */
  readonly waypoints: readonly Position[];
  readonly profile: Profile;
  /** Largest number of alternatives beside the best route. */
  readonly alternatives: number;
}

/** A recorded position. */
export interface TracePoint {
  readonly position: Position;
  readonly timestampMs?: number;
  readonly accuracyM?: number;
}

/** The position on the road of a recorded position. */
export interface MatchedPoint {
  /** Position on the road, or the recorded position if there is no road. */
  readonly position: Position;
  readonly isMatched: boolean;
  /** Distance between the recorded position and the road. */
  readonly distanceM: number | null;
  readonly roadName: string | null;
  readonly speedLimitKmh: number | null;
  /** Line from the previous point to this one, along the road if it is known. */
  readonly leg: readonly Position[];
}

/** A trace matched to roads, with one point for each recorded one. */
export interface MatchedTrace {
  readonly points: readonly MatchedPoint[];
  /** Score from 0 to 1. */
  readonly confidence: number;
}

/** Finds addresses. */
export interface Geocoder {
  readonly name: string;
  search(query: PlaceQuery): Promise<FoundPlace[]>;
  /** Returns null if the provider knows no address nearby. */
  reverse(position: Position, language?: string): Promise<FoundAddress | null>;
}

/** Suggests places while a user types. */
export interface Suggester {
  readonly name: string;
  suggest(query: PlaceQuery): Promise<FoundSuggestion[]>;
}

/** Draws routes. */
export interface Router {
  readonly name: string;
  /** Returns routes, best first; none if there is no route. */
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

/** Returns components of which only some are known; empty text counts as unknown. */
export function componentsOf(known: Partial<Record<keyof Components, string | null | undefined>>): Components {
  const given = Object.entries(known).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return { ...noComponents, ...Object.fromEntries(given) };
}

/** Returns a point without a known road. */
export const unmatched = (position: Position): MatchedPoint => ({
  position,
  isMatched: false,
  distanceM: null,
  roadName: null,
  speedLimitKmh: null,
  leg: [position],
});
