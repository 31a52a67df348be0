import { fileURLToPath } from 'node:url';

const at = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** The checkout's root; the same from src (tests) and from dist. */
export const repoRoot = at('../../..');
/** Small data that comes with the product, to try it. */
export const sampleDir = at('../../../services/platform-api/data');
export const reaperScript = at('../reaper.mjs');
export const backendsModule = at('../backends');
export const testServersModule = at('../test-servers');
export const launcherScript = at('../dist/main.js');
export const proxyScript = at('../dist/proxy-main.js');
/** Returns the program of a service, as scripts/bundle.mjs builds it. */
export const serviceScript = (service: string): string => at(`../../../services/${service}/dist/bundle/main.js`);
