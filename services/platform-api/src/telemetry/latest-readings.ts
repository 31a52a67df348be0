import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';

/** Values that a partner's device may report in positions and in heartbeats; null if missing. */
type Readings = Pick<LastLocation, 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'>;

/** Latest reported values with their device times. */
export interface LatestReadings {
  readonly values: Readings;
  /** Meaningless if the value is null. */
  readonly atMs: Readonly<Record<keyof Readings, number>>;
}

/**
 * Returns the previous readings with their timestamps. States stored by older versions have none: use those of the last
 * position.
 */
export function previousReadings(before: VehicleState | null): LatestReadings {
  if (before === null) return { values: noValues, atMs: forEachValue(() => 0) };
  if (before.latestReadings !== undefined) return before.latestReadings;
  const { location, heartbeat } = before;
  const isOfHeartbeat = (name: keyof Readings): boolean =>
    heartbeat !== undefined && heartbeat[name] === location[name];
  return {
    values: pick(location, location, () => true),
    atMs: forEachValue((name) => (isOfHeartbeat(name) ? (heartbeat?.timestamp ?? 0) : location.timestamp)),
  };
}

/** Merges the values of a heartbeat; a position of the same time takes precedence. */
export const withHeartbeat = (
  readings: LatestReadings,
  heartbeat: Readings & { readonly timestamp: number },
): LatestReadings => merge(readings, heartbeat, (name) => heartbeat.timestamp > readings.atMs[name]);

/** Merges the values of a position. */
export const withPosition = (
  readings: LatestReadings,
  position: Readings & { readonly timestamp: number },
): LatestReadings => merge(readings, position, (name) => position.timestamp >= readings.atMs[name]);

/** Returns the values of a position, replaced by newer ones. */
export const newerValues = (
  position: Readings & { readonly timestamp: number },
  { values, atMs }: LatestReadings,
): Readings => pick(values, position, (name) => values[name] !== null && atMs[name] > position.timestamp);

function merge(
  { values, atMs }: LatestReadings,
  said: Readings & { readonly timestamp: number },
  isNewer: (name: keyof Readings) => boolean,
): LatestReadings {
  const counts = (name: keyof Readings): boolean => said[name] !== null && (values[name] === null || isNewer(name));
  return {
    values: pick(said, values, counts),
    atMs: forEachValue((name) => (counts(name) ? said.timestamp : atMs[name])),
  };
}

const noValues: Readings = { ignition: null, batteryPercent: null, externalVoltage: null, signal: null };

const pick = (first: Readings, second: Readings, isFirst: (name: keyof Readings) => boolean): Readings => ({
  ignition: (isFirst('ignition') ? first : second).ignition,
  batteryPercent: (isFirst('batteryPercent') ? first : second).batteryPercent,
  externalVoltage: (isFirst('externalVoltage') ? first : second).externalVoltage,
  signal: (isFirst('signal') ? first : second).signal,
});

const forEachValue = (valueOf: (name: keyof Readings) => number): LatestReadings['atMs'] => ({
  ignition: valueOf('ignition'),
  batteryPercent: valueOf('batteryPercent'),
  externalVoltage: valueOf('externalVoltage'),
  signal: valueOf('signal'),
});
