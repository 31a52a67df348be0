// npm run reset: deletes the content of the data folder, unless the product runs.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
await import('../deploy/local/dist/reset-main.js');
