import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createApiDocument, createPartnerDocument, createVideoDocument } from './api-document.ts';
import { createPostmanCollection } from './postman-collection.ts';

for (const [name, document] of [
  ['openapi.json', createApiDocument()],
  ['video-openapi.json', createVideoDocument()],
  ['partner-openapi.json', createPartnerDocument()],
  ['postman-collection.json', createPostmanCollection()],
] as const) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
}
