import { campaignSize } from './campaign-size.ts';

const seedSetting = process.env['PROPERTY_SEED'] ?? '20261122';

/**
 * Seed of every property: the examples are the same in each run, as a run has to tell whether a change is right. PROPERTY_SEED sets another one, and `random`
 * one that nobody has seen.
 */
export const propertySeed = seedSetting === 'random' ? Date.now() % 0x8000_0000 : Number(seedSetting);

/** Returns how many examples a property is tried with. */
export const propertyRuns = (normal: number): number => campaignSize({ what: 'examples of a property', normal });

/** Settings for fast-check's `configureGlobal`. */
export const propertySettings = { seed: propertySeed, numRuns: propertyRuns(100) };
