// npm run backup -- --to FOLDER, npm run restore -- --from FOLDER: back up the data of the product that npm start runs,
// or restore it.
import './node-version.mjs';

const { prepare } = await import('./prepare.mjs');
await prepare();
await import('../deploy/local/dist/backup-main.js');
