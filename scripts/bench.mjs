// npm run bench: prepares as npm start does, then measures: doors beside peers and floors, and events; `-- events`: these alone; `-- start-up`: restarts; `-- lists`: lists.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
const what = process.argv[2] ?? 'all';
if (!['events', 'start-up', 'lists'].includes(what)) await import('../deploy/bench/run.mjs');
if (what === 'events' || what === 'all') await import('../deploy/bench/events.mjs');
if (what === 'start-up') await import('../deploy/bench/start-up.mjs');
if (what === 'lists') await import('../deploy/bench/lists.mjs');
