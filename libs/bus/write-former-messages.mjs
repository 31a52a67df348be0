// Writes former-messages.json: the fields of all messages of a built checkout of a release. Run it after a release.
//   node libs/bus/write-former-messages.mjs [FOLDER]
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { listMessages } from './dist/testing/message-fields.js';

const folder = process.argv[2] === undefined ? fileURLToPath(new URL('../..', import.meta.url)) : process.argv[2];
const exported = await import(pathToFileURL(resolve(folder, 'libs', 'bus', 'dist', 'index.js')).href);
writeFileSync(new URL('former-messages.json', import.meta.url), `${JSON.stringify(listMessages(exported), null, 2)}\n`);
