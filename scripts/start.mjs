// npm start: prepares a fresh clone, then runs the launcher in the same process.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
await import('../deploy/local/dist/main.js');
