import { campaignSize } from './campaign-size.ts';

const seedSetting = process.env['PROPERTY_SEED'] ?? '20261122';

/**
 * Seed of every property: each run uses the same examples, because it decides whether a change is correct.
 * PROPERTY_SEED sets another seed; `random` selects an arbitrary one.
 */
export const propertySeed = seedSetting === 'random' ? Date.now() % 0x8000_0000 : Number(seedSetting);

/** Returns the number of examples of a property. */
export const propertyRuns = (normal: number): number => campaignSize({ what: 'examples of a property', normal });

/** Settings for fast-check's `configureGlobal`. */
export const propertySettings = { seed: propertySeed, numRuns: propertyRuns(100) };
