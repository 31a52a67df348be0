// npm start: everything that a fresh clone needs, then the launcher in this same process.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
await import('../deploy/local/dist/main.js');
