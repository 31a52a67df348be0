import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { apiDocument } from './assembly/api-document.ts';

const file = fileURLToPath(new URL('../openapi.json', import.meta.url));
await writeFile(file, `${JSON.stringify(apiDocument(), null, 2)}\n`);
