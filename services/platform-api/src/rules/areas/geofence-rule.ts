import type { Geofence, GeofenceEvent } from '../../domains/geofences/schema.ts';
import type { LastLocation } from '../../domains/last-positions/schema.ts';
import { isOnSchedule } from '../../platform/schedule.ts';
import { type Finding, noFindings, type Outcome, type Rule } from '../rule.ts';
import { type Area, codeLength, depthWithinBoundsM, marginM } from './area.ts';
import { type Areas, toAreas } from './areas.ts';
import { segmentCrosses } from './segment-crossing.ts';

/** A valid fix. */
interface Fix {
  readonly latitude: number;
  readonly longitude: number;
  /** Device time. */
  readonly ms: number;
}

/** First fix on the other side of an edge, and the number of fixes since. */
interface PendingCrossing extends Fix {
  readonly fixes: number;
  readonly backfilled: boolean;
}

/** State of a vehicle in an area in which it is, or may be. */
interface Presence {
  readonly isInside: boolean;
  /** Start of the stay; device time. */
  readonly sinceMs: number;
  readonly turn?: PendingCrossing;
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
 * Finds crossings of geofences. A side changes after two fixes there, or after one that no fix contradicts for 20 s.
 * Fixes within the margin of the edge are undecided. A path through the area between two outside fixes reports enter
 * and exit. The first fix after a new geofence or shape sets the side silently.
 */
export const geofenceRule: Rule<GeofenceState> = {
  name: 'geofence',
  takesLate: false,
  step: (state, { position, isLate }, { geofences }): Outcome<GeofenceState> => {
    if (geofences.length === 0) return noFindings<GeofenceState>(undefined);
    if (isLate || !position.gpsValid || !isNew(state, position)) return noFindings(state);
    const fix: Fix = { latitude: position.latitude, longitude: position.longitude, ms: position.timestamp };
    const areas = toAreas(geofences);
    if (state?.known !== areas.codes) return onGeofencesChanged(state, fix, position.backfilled, areas);
    const touched = areas.findAlong(state.latitude, state.longitude, fix.latitude, fix.longitude);
    if (touched.length === 0 && isEmpty(state.presences)) return noFindings({ ...state, ...fix });
    const movement: Movement = { from: state, fix, backfilled: position.backfilled, findings: [] };
    const { presences, mustPersist } = updatePresences(movement, areasToCheck(touched, state, areas), state.presences);
    return { state: { ...state, ...fix, presences }, findings: movement.findings, updates: [], mustPersist };
  },
};

/** Returns true for a repetition of the same fix, as with another alarm of the same second. */
function isNew(state: GeofenceState | undefined, { timestamp, latitude, longitude }: LastLocation): boolean {
  if (state === undefined || timestamp > state.ms) return true;
  return timestamp === state.ms && (latitude !== state.latitude || longitude !== state.longitude);
}

function isEmpty(presences: GeofenceState['presences']): boolean {
  for (const _id in presences) return false;
  return true;
}

interface Movement {
  readonly from: Fix;
  readonly fix: Fix;
  readonly backfilled: boolean;
  readonly findings: Finding[];
}

// The geofences have changed: existing ones continue, the side of the others is set.
function onGeofencesChanged(
  state: GeofenceState | undefined,
  fix: Fix,
  backfilled: boolean,
  areas: Areas,
): Outcome<GeofenceState> {
  const codes = splitCodes(state?.known ?? '');
  const isKnown = ({ code }: Area): boolean => codes.has(code);
  const movement: Movement = { from: state ?? fix, fix, backfilled, findings: [] };
  const old = areas.all.filter(isKnown);
  const { presences } = updatePresences(movement, old, state?.presences ?? {});
  for (const area of areas.all) {
    if (isKnown(area)) continue;
    const { _id } = area.geofence;
    if (depthWithinBoundsM(area, fix.latitude, fix.longitude) >= 0)
      presences[_id] = { isInside: true, sinceMs: fix.ms };
    else delete presences[_id];
  }
  return {
    state: { ...fix, known: areas.codes, presences },
    findings: movement.findings,
    updates: [],
    mustPersist: true,
  };
}

function splitCodes(known: string): Set<string> {
  const codes = new Set<string>();
  for (let at = 0; at < known.length; at += codeLength) codes.add(known.slice(at, at + codeLength));
  return codes;
}

/** Returns the areas on the path and those that contained the vehicle, by id. */
function areasToCheck(touched: readonly Area[], { presences }: GeofenceState, areas: Areas): readonly Area[] {
  if (touched.length === 1 && isEmpty(presences)) return touched;
  const found = new Set(touched);
  for (const id in presences) {
    const area = areas.byId(Number(id));
    if (area !== undefined) found.add(area);
  }
  return [...found].sort((a, b) => a.geofence._id - b.geofence._id);
}

/** Returns the state of the areas after a fix. Areas that are missing are dropped. */
function updatePresences(
  movement: Movement,
  areas: readonly Area[],
  before: GeofenceState['presences'],
): { presences: Record<string, Presence>; mustPersist: boolean } {
  const presences: Record<string, Presence> = {};
  let mustPersist = false;
  for (const area of areas) {
    const was = before[area.geofence._id];
    const is = nextPresence(movement, area, was);
    if (is !== undefined) presences[area.geofence._id] = is;
    mustPersist ||= (is?.isInside ?? false) !== (was?.isInside ?? false) || is?.hasDwelt !== was?.hasDwelt;
  }
  return { presences, mustPersist: mustPersist || movement.findings.length > 0 };
}

function nextPresence(movement: Movement, area: Area, was: Presence | undefined): Presence | undefined {
  const { from, fix } = movement;
  const wasInside = was?.isInside ?? false;
  const depthM = depthWithinBoundsM(area, fix.latitude, fix.longitude);
  const [isIn, isOut] = [depthM >= area.innerM, depthM <= -marginM];
  if (isIn && wasInside) return checkDwell(movement, area, withoutPendingExit(was, fix));
  if (!isIn && !wasInside && was?.turn === undefined) {
    if (segmentCrosses(area, from.latitude, from.longitude, fix.latitude, fix.longitude)) {
      addFinding(movement, area, 'enter', { ...fix, backfilled: movement.backfilled });
      addFinding(movement, area, 'exit', { ...fix, backfilled: movement.backfilled });
    }
    return undefined;
  }
  if (isOut && !wasInside) return undefined;
  const turn = isIn || isOut ? nextTurn(movement, was?.turn) : was?.turn;
  if (turn === undefined) return was === undefined ? undefined : checkDwell(movement, area, was);
  if (turn.fixes < fixesNeeded && fix.ms - turn.ms < timeNeededMs)
    return { ...(was ?? { isInside: false, sinceMs: turn.ms }), turn };
  addFinding(movement, area, wasInside ? 'exit' : 'enter', turn);
  return wasInside ? undefined : checkDwell(movement, area, { isInside: true, sinceMs: turn.ms });
}

// Inside, without a pending exit.
const withoutPendingExit = (was: Presence | undefined, fix: Fix): Presence => {
  if (was === undefined) return { isInside: true, sinceMs: fix.ms };
  if (was.turn === undefined) return was;
  const { turn: _turn, ...rest } = was;
  return rest;
};

const nextTurn = ({ fix, backfilled }: Movement, turn: PendingCrossing | undefined): PendingCrossing =>
  turn === undefined ? { ...fix, fixes: 1, backfilled } : { ...turn, fixes: turn.fixes + 1 };

/** Reports `dwell` once a stay, when it is long enough and the geofence applies. */
function checkDwell(movement: Movement, area: Area, presence: Presence): Presence {
  const { dwellSeconds, notifyOn, schedule } = area.geofence;
  if (dwellSeconds === null || presence.hasDwelt === true || !notifyOn.includes('dwell')) return presence;
  if (movement.fix.ms - presence.sinceMs < dwellSeconds * 1_000 || !isOnSchedule(schedule, movement.fix.ms))
    return presence;
  addFinding(movement, area, 'dwell', { ...movement.fix, backfilled: movement.backfilled });
  return { ...presence, hasDwelt: true };
}

function addFinding(
  { findings }: Movement,
  { geofence }: Area,
  event: GeofenceEvent,
  at: Fix & { backfilled: boolean },
): void {
  if (!isEnabled(geofence, event, at.ms)) return;
  findings.push({
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

const isEnabled = ({ notifyOn, schedule }: Geofence, event: GeofenceEvent, atMs: number): boolean =>
  notifyOn.includes(event) && isOnSchedule(schedule, atMs);
