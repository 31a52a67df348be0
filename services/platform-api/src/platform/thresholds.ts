import { type ConfigOf, dayMs, envSchema } from '@fleet/service-kit';

/** Thresholds that decide the state of a vehicle; each is a setting. */
export interface VehicleThresholds {
  /** Speed from which a vehicle moves; below it, positions drift. */
  readonly movingFromKmh: number;
  /** Silence after which a terminal counts as offline. */
  readonly offlineAfterMs: number;
}

/** The values of `VehicleThresholds` in the environment. */
export const thresholdSettings = envSchema({
  MOVING_FROM_KMH: {
    formerName: 'RULE_MOVING_KMH',
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 5,
    description:
      'speed from which a vehicle counts as moving: in its state, its trips and mileage, and for `idling`, `towing` and `night_driving`',
  },
  OFFLINE_AFTER_MS: {
    type: 'integer',
    minimum: 60_000,
    maximum: dayMs,
    default: 600_000,
    description:
      'silence after which a terminal counts as offline; `idling` and `overspeed` do not count longer gaps between reports',
  },
});

/** Returns the thresholds of the environment. */
export const readThresholds = (config: ConfigOf<typeof thresholdSettings>): VehicleThresholds => ({
  movingFromKmh: config.MOVING_FROM_KMH,
  offlineAfterMs: config.OFFLINE_AFTER_MS,
});
