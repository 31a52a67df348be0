import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';

/** Values that a partner's device may report in positions and in heartbeats; null if missing. */
export type Values = Pick<LastLocation, 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'>;

/** Latest reported values with their device times. */
export interface LatestReadings {
  readonly values: Values;
  /** Meaningless if the value is null. */
  readonly atMs: Readonly<Record<keyof Values, number>>;
}

/**
 * Returns the previous readings with their timestamps. States stored by older versions have none: use those of the last
 * position.
 */
export function previousReadings(before: VehicleState | null): LatestReadings {
  if (before === null) return { values: nothing, atMs: each(() => 0) };
  if (before.told !== undefined) return before.told;
  const { location, heartbeat } = before;
  const isOfHeartbeat = (name: keyof Values): boolean => heartbeat !== undefined && heartbeat[name] === location[name];
  return {
    values: chosen(location, location, () => true),
    atMs: each((name) => (isOfHeartbeat(name) ? (heartbeat?.timestamp ?? 0) : location.timestamp)),
  };
}

/** Merges the values of a heartbeat; a position of the same time takes precedence. */
export const withHeartbeat = (
  told: LatestReadings,
  heartbeat: Values & { readonly timestamp: number },
): LatestReadings => after(told, heartbeat, (name) => heartbeat.timestamp > told.atMs[name]);

/** Merges the values of a position. */
export const withPosition = (told: LatestReadings, position: Values & { readonly timestamp: number }): LatestReadings =>
  after(told, position, (name) => position.timestamp >= told.atMs[name]);

/** Returns the values of a position, replaced by newer ones. */
export const newest = (position: Values & { readonly timestamp: number }, { values, atMs }: LatestReadings): Values =>
  chosen(values, position, (name) => values[name] !== null && atMs[name] > position.timestamp);

function after(
  { values, atMs }: LatestReadings,
  said: Values & { readonly timestamp: number },
  isNewer: (name: keyof Values) => boolean,
): LatestReadings {
  const counts = (name: keyof Values): boolean => said[name] !== null && (values[name] === null || isNewer(name));
  return {
    values: chosen(said, values, counts),
    atMs: each((name) => (counts(name) ? said.timestamp : atMs[name])),
  };
}

const nothing: Values = { ignition: null, batteryPercent: null, externalVoltage: null, signal: null };

const chosen = (first: Values, second: Values, isFirst: (name: keyof Values) => boolean): Values => ({
  ignition: (isFirst('ignition') ? first : second).ignition,
  batteryPercent: (isFirst('batteryPercent') ? first : second).batteryPercent,
  externalVoltage: (isFirst('externalVoltage') ? first : second).externalVoltage,
  signal: (isFirst('signal') ? first : second).signal,
});

const each = (valueOf: (name: keyof Values) => number): LatestReadings['atMs'] => ({
  ignition: valueOf('ignition'),
  batteryPercent: valueOf('batteryPercent'),
  externalVoltage: valueOf('externalVoltage'),
  signal: valueOf('signal'),
});
