// Generates the types of the Platform API from its OpenAPI document. `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTypescript, { astToString } from 'openapi-typescript';

const documentUrl = new URL('../../services/platform-api/openapi.json', import.meta.url);
const targetUrl = new URL('src/platform-api.ts', import.meta.url);
const header = '// Generated from services/platform-api/openapi.json by `npm run generate`. Do not edit.\n';

const text = header + astToString(await openapiTypescript(documentUrl, { exportType: true }));
if (process.argv.includes('--check')) {
  if (readFileSync(targetUrl, 'utf8') !== text) {
    console.error('libs/api-client/src/platform-api.ts differs from the OpenAPI document. Run npm run generate.');
    process.exitCode = 1;
  }
} else writeFileSync(targetUrl, text);
