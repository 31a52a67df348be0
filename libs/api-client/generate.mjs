// Generates the types and the request schemas of the Platform API from its OpenAPI document. `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTypescript, { astToString } from 'openapi-typescript';

const documentUrl = new URL('../../services/platform-api/openapi.json', import.meta.url);
const header = '// Generated from services/platform-api/openapi.json by `npm run generate`. Do not edit.\n';

/** Annotations, which validate nothing. */
const annotations = new Set(['description', 'examples', 'title', 'default', 'readOnly']);

/** Returns the schemas of the JSON bodies by operation, with their references resolved and without annotations. */
function collectRequestSchemas(document) {
  const resolve = (schema) => {
    if (Array.isArray(schema)) return schema.map(resolve);
    if (typeof schema !== 'object' || schema === null) return schema;
    if (typeof schema.$ref === 'string')
      return resolve(document.components.schemas[schema.$ref.slice('#/components/schemas/'.length)]);
    return Object.fromEntries(
      Object.entries(schema).flatMap(([key, value]) => {
        if (annotations.has(key)) return [];
        // Names of properties are no keywords.
        if (key === 'properties')
          return [[key, Object.fromEntries(Object.entries(value).map(([name, field]) => [name, resolve(field)]))]];
        return [[key, key === 'enum' ? value : resolve(value)]];
      }),
    );
  };
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  return Object.fromEntries(
    operations.flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content?.['application/json']?.schema;
      return operationId === undefined || schema === undefined ? [] : [[operationId, resolve(schema)]];
    }),
  );
}

const documentText = readFileSync(documentUrl, 'utf8');
const schemas = JSON.stringify(collectRequestSchemas(JSON.parse(documentText)), null, 2);
const files = [
  ['platform-api.ts', header + astToString(await openapiTypescript(documentUrl, { exportType: true }))],
  [
    'request-schemas.ts',
    `${header}/** JSON schemas of the request bodies by operation. */\nexport const requestSchemas = ${schemas};\n`,
  ],
];
for (const [name, text] of files) {
  const url = new URL(`src/${name}`, import.meta.url);
  if (!process.argv.includes('--check')) writeFileSync(url, text);
  else if (readFileSync(url, 'utf8') !== text) {
    console.error(`libs/api-client/src/${name} differs from the OpenAPI document. Run npm run generate.`);
    process.exitCode = 1;
  }
}
