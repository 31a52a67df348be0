import type { LastLocation } from '../domains/realtime/schema.ts';
import type { VehicleState } from './state.ts';

/** What a partner's device may say in positions and in heartbeats; null where it does not. */
export type Values = Pick<LastLocation, 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'>;

/** The newest that a device has said of each, wherever it has said it, and when: by the device's time. */
export interface Told {
  readonly values: Values;
  /** Means nothing where the value is null. */
  readonly atMs: Readonly<Record<keyof Values, number>>;
}

/** What was told before; what states of before this was remembered leave open is taken to be the position's. */
export function toldBefore(before: VehicleState | null): Told {
  if (before === null) return { values: nothing, atMs: each(() => 0) };
  if (before.told !== undefined) return before.told;
  const { location, heartbeat } = before;
  const isOfHeartbeat = (name: keyof Values): boolean => heartbeat !== undefined && heartbeat[name] === location[name];
  return {
    values: chosen(location, location, () => true),
    atMs: each((name) => (isOfHeartbeat(name) ? (heartbeat?.timestamp ?? 0) : location.timestamp)),
  };
}

/** With what a heartbeat says; a position of the same moment has said it better. */
export const withHeartbeat = (told: Told, heartbeat: Values & { readonly timestamp: number }): Told =>
  after(told, heartbeat, (name) => heartbeat.timestamp > told.atMs[name]);

/** With what a position says. */
export const withPosition = (told: Told, position: Values & { readonly timestamp: number }): Told =>
  after(told, position, (name) => position.timestamp >= told.atMs[name]);

/** Values of a position, but for those that something newer has told. */
export const newest = (position: Values & { readonly timestamp: number }, { values, atMs }: Told): Values =>
  chosen(values, position, (name) => values[name] !== null && atMs[name] > position.timestamp);

function after(
  { values, atMs }: Told,
  said: Values & { readonly timestamp: number },
  isNewer: (name: keyof Values) => boolean,
): Told {
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

const each = (valueOf: (name: keyof Values) => number): Told['atMs'] => ({
  ignition: valueOf('ignition'),
  batteryPercent: valueOf('batteryPercent'),
  externalVoltage: valueOf('externalVoltage'),
  signal: valueOf('signal'),
});
