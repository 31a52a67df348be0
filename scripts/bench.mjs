// npm run bench: prepares as npm start does, then measures.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
await import('../deploy/bench/run.mjs');
