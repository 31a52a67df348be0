// npm run doctor: checks a running installation from outside, and prints what is wrong and what to do.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
await import('../deploy/local/dist/doctor-main.js');
