export { campaignSize, campaignTimeoutMs } from './campaign-size.ts';
export { selfSigned } from './certificate.ts';
export { maxLagWithin, monitorEventLoopLag } from './event-loop-lag.ts';
export { freePort } from './free-port.ts';
export { propertyRuns, propertySeed, propertySettings } from './property-settings.ts';
export { SeededRandom } from './seeded-random.ts';
export { ServerProcess, s3Keys } from './server-process.ts';
export { testEnv } from './test-env.ts';
export { waitFor } from './wait-for.ts';
