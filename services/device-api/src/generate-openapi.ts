import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { apiCollection } from './api-collection.ts';
import { apiDocument, partnerDocument, videoDocument } from './api-document.ts';

for (const [name, document] of [
  ['openapi.json', apiDocument()],
  ['video-openapi.json', videoDocument()],
  ['partner-openapi.json', partnerDocument()],
  ['postman-collection.json', apiCollection()],
] as const) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
}
