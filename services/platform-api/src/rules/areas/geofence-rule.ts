import type { Geofence, GeofenceEvent } from '../../domains/geofences/schema.ts';
import type { LastLocation } from '../../domains/last-positions/schema.ts';
import { isOnSchedule } from '../../platform/schedule.ts';
import { type Outcome, quiet, type Raised, type Rule } from '../rule.ts';
import { type Area, codeLength, depthAt, marginM } from './area.ts';
import { type Areas, areasOf } from './areas.ts';
import { leadsThrough } from './passing.ts';

/** A valid fix. */
interface Fix {
  readonly latitude: number;
  readonly longitude: number;
  /** Device time. */
  readonly ms: number;
}

/** First fix on the other side of an edge, and the number of fixes since. */
interface Turn extends Fix {
  readonly fixes: number;
  readonly backfilled: boolean;
}

/** State of a vehicle in an area in which it is, or may be. */
interface Presence {
  readonly isInside: boolean;
  /** Start of the stay; device time. */
  readonly sinceMs: number;
  readonly turn?: Turn;
  /** `dwell` was reported for this stay. */
  readonly hasDwelt?: true;
}

/** State of a vehicle between its fixes. */
export interface GeofenceState extends Fix {
  /** Codes of the areas in which the vehicle's side is known. */
  readonly known: string;
  /** By geofence id; the vehicle is outside all others. */
  readonly presences: Readonly<Record<string, Presence>>;
}

const fixesNeeded = 2;
const timeNeededMs = 20_000;

/**
 * Finds crossings of geofences. A side changes after two fixes there, or after one that no fix contradicts for 20 s;
 * fixes within the margin of the edge are undecided. A path through the area between two outside fixes reports enter
 * and exit. The first fix after a new geofence or shape sets the side silently.
 */
export const geofenceRule: Rule<GeofenceState> = {
  name: 'geofence',
  takesLate: false,
  step: (state, { position, isLate }, { geofences }): Outcome<GeofenceState> => {
    if (geofences.length === 0) return quiet<GeofenceState>(undefined);
    if (isLate || !position.gpsValid || !isNew(state, position)) return quiet(state);
    const fix: Fix = { latitude: position.latitude, longitude: position.longitude, ms: position.timestamp };
    const areas = areasOf(geofences);
    if (state?.known !== areas.codes) return settled(state, fix, position.backfilled, areas);
    const touched = areas.along(state.latitude, state.longitude, fix.latitude, fix.longitude);
    if (touched.length === 0 && isEmpty(state.presences)) return quiet({ ...state, ...fix });
    const walk: Walk = { from: state, fix, backfilled: position.backfilled, raised: [] };
    const { presences, turned } = moved(walk, withPresent(touched, state, areas), state.presences);
    return { state: { ...state, ...fix, presences }, raised: walk.raised, amended: [], turned };
  },
};

/** Returns the ids of the geofences that contain a vehicle, from the rule's state. */
export const insideIds = (state: GeofenceState | undefined): number[] =>
  Object.entries(state?.presences ?? {})
    .filter(([, { isInside }]) => isInside)
    .map(([id]) => Number(id));

/** Returns true for a repetition of the same fix, as with another alarm of the same second. */
function isNew(state: GeofenceState | undefined, { timestamp, latitude, longitude }: LastLocation): boolean {
  if (state === undefined || timestamp > state.ms) return true;
  return timestamp === state.ms && (latitude !== state.latitude || longitude !== state.longitude);
}

function isEmpty(presences: GeofenceState['presences']): boolean {
  for (const _id in presences) return false;
  return true;
}

interface Walk {
  readonly from: Fix;
  readonly fix: Fix;
  readonly backfilled: boolean;
  readonly raised: Raised[];
}

/** The geofences have changed: existing ones continue, the side of the others is set. */
function settled(
  state: GeofenceState | undefined,
  fix: Fix,
  backfilled: boolean,
  areas: Areas,
): Outcome<GeofenceState> {
  const codes = codesIn(state?.known ?? '');
  const isKnown = ({ code }: Area): boolean => codes.has(code);
  const walk: Walk = { from: state ?? fix, fix, backfilled, raised: [] };
  const old = areas.all.filter(isKnown);
  const { presences } = moved(walk, old, state?.presences ?? {});
  for (const area of areas.all) {
    if (isKnown(area)) continue;
    const { _id } = area.geofence;
    if (depthAt(area, fix.latitude, fix.longitude) >= 0) presences[_id] = { isInside: true, sinceMs: fix.ms };
    else delete presences[_id];
  }
  return { state: { ...fix, known: areas.codes, presences }, raised: walk.raised, amended: [], turned: true };
}

function codesIn(known: string): Set<string> {
  const codes = new Set<string>();
  for (let at = 0; at < known.length; at += codeLength) codes.add(known.slice(at, at + codeLength));
  return codes;
}

/** Returns the areas on the path and those that contained the vehicle, by id. */
function withPresent(touched: readonly Area[], { presences }: GeofenceState, areas: Areas): readonly Area[] {
  if (touched.length === 1 && isEmpty(presences)) return touched;
  const found = new Set(touched);
  for (const id in presences) {
    const area = areas.byId(Number(id));
    if (area !== undefined) found.add(area);
  }
  return [...found].sort((a, b) => a.geofence._id - b.geofence._id);
}

/** Returns the state of the areas after a fix. Areas that are missing are dropped. */
function moved(
  walk: Walk,
  areas: readonly Area[],
  before: GeofenceState['presences'],
): { presences: Record<string, Presence>; turned: boolean } {
  const presences: Record<string, Presence> = {};
  let turned = false;
  for (const area of areas) {
    const was = before[area.geofence._id];
    const is = presenceAfter(walk, area, was);
    if (is !== undefined) presences[area.geofence._id] = is;
    turned ||= (is?.isInside ?? false) !== (was?.isInside ?? false) || is?.hasDwelt !== was?.hasDwelt;
  }
  return { presences, turned: turned || walk.raised.length > 0 };
}

function presenceAfter(walk: Walk, area: Area, was: Presence | undefined): Presence | undefined {
  const { from, fix } = walk;
  const wasInside = was?.isInside ?? false;
  const depthM = depthAt(area, fix.latitude, fix.longitude);
  const [isIn, isOut] = [depthM >= area.innerM, depthM <= -marginM];
  if (isIn && wasInside) return dwelling(walk, area, settledAgain(was, fix));
  if (!isIn && !wasInside && was?.turn === undefined) {
    if (leadsThrough(area, from.latitude, from.longitude, fix.latitude, fix.longitude)) {
      raise(walk, area, 'enter', { ...fix, backfilled: walk.backfilled });
      raise(walk, area, 'exit', { ...fix, backfilled: walk.backfilled });
    }
    return undefined;
  }
  if (isOut && !wasInside) return undefined;
  const turn = isIn || isOut ? turnAfter(walk, was?.turn) : was?.turn;
  if (turn === undefined) return was === undefined ? undefined : dwelling(walk, area, was);
  if (turn.fixes < fixesNeeded && fix.ms - turn.ms < timeNeededMs)
    return { ...(was ?? { isInside: false, sinceMs: turn.ms }), turn };
  raise(walk, area, wasInside ? 'exit' : 'enter', turn);
  return wasInside ? undefined : dwelling(walk, area, { isInside: true, sinceMs: turn.ms });
}

/** Inside, without a pending exit. */
const settledAgain = (was: Presence | undefined, fix: Fix): Presence => {
  if (was === undefined) return { isInside: true, sinceMs: fix.ms };
  if (was.turn === undefined) return was;
  const { turn: _turn, ...rest } = was;
  return rest;
};

const turnAfter = ({ fix, backfilled }: Walk, turn: Turn | undefined): Turn =>
  turn === undefined ? { ...fix, fixes: 1, backfilled } : { ...turn, fixes: turn.fixes + 1 };

/** Reports `dwell` once a stay, when it is long enough and the geofence applies. */
function dwelling(walk: Walk, area: Area, presence: Presence): Presence {
  const { dwellSeconds, notifyOn, schedule } = area.geofence;
  if (dwellSeconds === null || presence.hasDwelt === true || !notifyOn.includes('dwell')) return presence;
  if (walk.fix.ms - presence.sinceMs < dwellSeconds * 1_000 || !isOnSchedule(schedule, walk.fix.ms)) return presence;
  raise(walk, area, 'dwell', { ...walk.fix, backfilled: walk.backfilled });
  return { ...presence, hasDwelt: true };
}

function raise({ raised }: Walk, { geofence }: Area, event: GeofenceEvent, at: Fix & { backfilled: boolean }): void {
  if (!isWanted(geofence, event, at.ms)) return;
  raised.push({
    type: 'geofence',
    subject: `${geofence._id}:${event}`,
    atMs: at.ms,
    latitude: at.latitude,
    longitude: at.longitude,
    gpsValid: true,
    attributes: { event, geofence_id: geofence._id, geofence_name: geofence.name },
    backfilled: at.backfilled,
  });
}

const isWanted = ({ notifyOn, schedule }: Geofence, event: GeofenceEvent, atMs: number): boolean =>
  notifyOn.includes(event) && isOnSchedule(schedule, atMs);
