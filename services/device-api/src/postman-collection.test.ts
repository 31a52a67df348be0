import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { createApiDocument } from './api-document.ts';
import { createPostmanCollection } from './postman-collection.ts';

interface Item {
  name: string;
  response: { code: number; body: string }[];
  request: {
    method: string;
    auth?: object;
    body?: { raw: string };
    url: { raw: string; path: string[]; query: { key: string; value: string; disabled: boolean }[] };
  };
}
const collection = createPostmanCollection() as unknown as {
  variable: { key: string; value: string }[];
  item: { name: string; item: Item[] }[];
};
const items = collection.item.flatMap((folder) => folder.item);
const itemAt = (method: string, path: string): Item | undefined =>
  items.find(({ request }) => request.method === method && request.url.path.join('/') === `api/v1/${path}`);

describe('postman-collection.json', () => {
  it('equals the document: run `npm run generate` after a change of a route', () => {
    const file = readFileSync(fileURLToPath(new URL('../postman-collection.json', import.meta.url)), 'utf8');
    expect(JSON.parse(file)).toEqual(collection);
  });

  it('has a request for each operation, under its tag', () => {
    const paths = createApiDocument()['paths'] as Record<string, Record<string, { tags: string[] }>>;
    const expected = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { tags }]) => `${tags[0]}: ${method.toUpperCase()} ${path}`),
    );
    const actual = collection.item.flatMap(({ name, item }) =>
      item.map(({ request }) => `${name}: ${request.method} /${request.url.path.join('/')}`),
    );
    expect(actual.toSorted()).toEqual(expected.toSorted());
  });

  it('sends required parameters, and has the others disabled', () => {
    const start = itemAt('GET', 'realtime/start-stream');
    expect(start?.request.url.raw).toBe('{{base_url}}/api/v1/realtime/start-stream?imei={{imei}}&channel={{channel}}');
    expect(start?.request.url.query.find(({ key }) => key === 'stream_type')).toMatchObject({
      value: '0',
      disabled: true,
    });
    expect(JSON.parse(itemAt('POST', 'send-text')?.request.body?.raw ?? '')).toEqual({
      text: 'Please call the dispatcher.',
      text_type: 'Notification',
      options: {
        emergency: false,
        display_by_terminal: true,
        tts: true,
        display_by_advertising_screen: false,
        central_navigation_info: false,
      },
    });
    expect(itemAt('GET', 'health')?.request.auth).toEqual({ type: 'noauth' });
  });

  it('saves an example of each JSON response', () => {
    const responses = itemAt('GET', 'wakeup')?.response ?? [];
    expect(responses.map(({ code, body }) => [code, JSON.parse(body)])).toEqual([[200, { result: 'success' }]]);
    const withoutExample = items.filter(({ response }) => response.length === 0).map(({ name }) => name);
    expect(withoutExample).toEqual([
      'Watch live video as HTTP-FLV',
      'Watch a recording as HTTP-FLV',
      'Download the video of an upload',
    ]);
  });

  it('defines exactly the variables that it uses', () => {
    const named = new Set([...JSON.stringify(collection).matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name));
    expect([...named].toSorted()).toEqual(collection.variable.map(({ key }) => key).toSorted());
    for (const { request } of items)
      for (const { value, disabled } of request.url.query) expect(disabled || value !== '').toBe(true);
  });
});
