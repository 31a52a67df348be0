import { fileURLToPath } from 'node:url';

const at = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Root of the checkout, for src (tests) and dist alike. */
export const repoRoot = at('../../..');
/** Sample data that comes with the product. */
export const sampleDir = at('../../../services/platform-api/data');
export const reaperScript = at('../reaper.mjs');
export const backendsModule = at('../backends');
export const testServersModule = at('../test-servers');
export const launcherScript = at('../dist/main.js');
export const proxyScript = at('../dist/proxy-main.js');
/** The dashboard, as built by scripts/build-dashboard.mjs. */
export const dashboardDir = at('../../../services/dashboard/dist/app');
/** Returns the program of a service, as built by scripts/bundle.mjs. */
export const serviceScript = (service: string): string => at(`../../../services/${service}/dist/bundle/main.js`);
