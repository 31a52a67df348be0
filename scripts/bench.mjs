// npm run bench: prepares like npm start, then runs the comparisons with peers and floors, and the benchmarks of
// events. `-- events` runs only the latter, `-- start-up` the restarts, `-- lists` the lists, `-- talk` the delay of talk,
// `-- captures` the captures, `-- video` first pictures and conversions to MP4, `-- dashboard` the live map in a browser,
// `-- tracing` the cost of traces.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
const what = process.argv[2] ?? 'all';
if (!['events', 'start-up', 'lists', 'talk', 'captures', 'video', 'dashboard', 'tracing'].includes(what))
  await import('../deploy/bench/run.mjs');
if (what === 'events' || what === 'all') await import('../deploy/bench/events.mjs');
if (what === 'start-up') await import('../deploy/bench/start-up.mjs');
if (what === 'talk') await import('../deploy/bench/talk.mjs');
if (what === 'lists') await import('../deploy/bench/lists.mjs');
if (what === 'captures') await import('../deploy/bench/captures.mjs');
if (what === 'video') await import('../deploy/bench/video.mjs');
if (what === 'tracing') await import('../deploy/bench/tracing.mjs');
if (what === 'dashboard') await import('../deploy/bench/dashboard.mjs');
