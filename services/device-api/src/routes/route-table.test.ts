import type { Route } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../config.ts';
import type { Deps } from '../deps.ts';
import { type ApiResponse, DeviceApiHarness } from '../testing/harness.ts';
import { createSample, type FieldSchema, getField, invalidJsonTexts, invalidTexts } from '../testing/invalid-inputs.ts';
import { deviceApiRoutes } from './index.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService();
});
afterAll(() => harness.close());

const routes = deviceApiRoutes({ config: loadConfig({}) } as Deps);
const routeName = ({ method, path }: Route): string => `${method.toUpperCase()} ${path}`;

interface Row {
  readonly route: Route;
  readonly name: string;
  readonly schema: FieldSchema;
}
const getSchema = (route: Route, location: 'query' | 'body'): FieldSchema => route[location] ?? {};
const listRows = (location: 'query' | 'body'): [string, string, Row][] =>
  routes.flatMap((route) =>
    Object.entries(getSchema(route, location).properties ?? {}).map(([name, schema]): [string, string, Row] => [
      routeName(route),
      name,
      { route, name, schema },
    ]),
  );
const isRequired = (route: Route, location: 'query' | 'body', name: string): boolean =>
  getSchema(route, location).required?.includes(name) === true;

/** Returns a query with all required parameters except one, followed by `more`. */
function queryWithout(route: Route, name: string, more = ''): string {
  const schema = getSchema(route, 'query');
  const others = (schema.required ?? []).filter((other) => other !== name);
  const parameters = others.map(
    (other) => `${other}=${encodeURIComponent(String(createSample(getField(schema, other))))}`,
  );
  return [...parameters, ...(more === '' ? [] : [more])].join('&');
}

const sampleBody = (route: Route): Record<string, unknown> | undefined =>
  route.body === undefined ? undefined : (createSample(route.body) as Record<string, unknown>);

interface SentRequest {
  readonly query: string;
  readonly body?: string | undefined;
}

async function send(
  route: Route,
  { query, body = JSON.stringify(sampleBody(route)) }: SentRequest,
): Promise<ApiResponse> {
  const init = { method: route.method.toUpperCase(), ...(body === undefined ? {} : { body }) };
  return api.get(`${route.path}?${query}`, init);
}

/** Returns the responses, and the number of commands that devices received. */
async function sendAll(route: Route, requests: readonly SentRequest[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const request of requests) {
    const before = harness.commands.length;
    const { status, body } = await send(route, request);
    results.push({ ...truncate(request), status, response: body, commands: harness.commands.length - before });
  }
  return results;
}

/** Expects 400 for each, with the parameter or field in its message, and no command. */
const expectedRejections = (name: string, requests: readonly SentRequest[]): unknown[] =>
  requests.map((request) => ({
    ...truncate(request),
    status: 400,
    response: { status: 400, error: expect.stringMatching(new RegExp(`^The .*\\b${name}\\b.*\\.$`, 's')) },
    commands: 0,
  }));

const truncate = ({ query, body }: SentRequest) => ({ query: query.slice(0, 300), body: body?.slice(0, 300) });

describe('each query parameter of each route', () => {
  it.each(listRows('query'))('%s: rejects each invalid form of %s by name', async (_route, name, { route, schema }) => {
    const forms = invalidTexts(schema).map((text) => `${name}=${encodeURIComponent(text)}`);
    const requests = forms.map((form) => ({ query: queryWithout(route, name, form) }));
    expect(await sendAll(route, requests)).toEqual(expectedRejections(name, requests));
  });

  it.each(listRows('query'))(
    '%s: rejects %s given twice, or absent although required',
    async (_route, name, { route, schema }) => {
      const once = `${name}=${encodeURIComponent(String(createSample(schema)))}`;
      const twice = [`${once}&${once}`, `${name}=&${once}`];
      const leftOut = isRequired(route, 'query', name) ? ['', once.replace('=', '%5B%5D=')] : [];
      const requests = [...twice, ...leftOut].map((form) => ({ query: queryWithout(route, name, form) }));
      expect(await sendAll(route, requests)).toEqual(expectedRejections(name, requests));
    },
  );
});

describe('each field of each body', () => {
  it.each(listRows('body'))('%s: rejects %s of another type by name', async (_route, name, { route, schema }) => {
    const rest = Object.entries(sampleBody(route) ?? {}).filter(([other]) => other !== name);
    const member = (key: string, text: string): string => `${JSON.stringify(key)}:${text}`;
    const bodyWith = (...more: string[]): string =>
      `{${[...rest.map(([key, value]) => member(key, JSON.stringify(value))), ...more].join(',')}}`;
    const good = member(name, JSON.stringify(createSample(schema)));
    const bodies = [
      ...invalidJsonTexts(schema).map((text) => bodyWith(member(name, text))),
      bodyWith(good, good),
      ...(isRequired(route, 'body', name) ? [bodyWith()] : []),
    ];
    const requests = bodies.map((body) => ({ query: queryWithout(route, ''), body }));
    expect(await sendAll(route, requests)).toEqual(expectedRejections(name, requests));
  });
});

describe('each route', () => {
  it.each(routes.map((route) => [routeName(route), route] as const))(
    '%s accepts the example of its schema',
    async (_name, route) => {
      const { status } = await send(route, { query: queryWithout(route, '') });
      expect([200, ...Object.keys(route.errors).map(Number)]).toContain(status);
      expect([400, 500]).not.toContain(status);
    },
  );

  const listMethods = (path: string): string[] =>
    routes
      .filter((route) => route.path === path)
      .flatMap(({ method, allowHead }) =>
        method === 'get' && allowHead !== false ? ['GET', 'HEAD'] : [method.toUpperCase()],
      );
  const paths = [...new Set(routes.map(({ path }) => path))];

  it.each(paths)('%s returns its methods to OPTIONS, and 405 to other methods', async (path) => {
    const methods = listMethods(path);
    const allow = [...methods, 'OPTIONS'].join(', ');
    const options = await api.get(path, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow'), options.body]).toEqual([204, allow, undefined]);
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].filter((method) => !methods.includes(method));
    for (const method of others) {
      const { status, headers, body } = await api.get(path, { method });
      expect([method, status, headers.get('allow')]).toEqual([method, 405, allow]);
      expect(body).toEqual({ status: 405, error: `${method} is not a method of this path; it accepts ${allow}.` });
    }
    // Node.js rejects unknown methods itself.
    expect((await api.get(path, { method: 'MADEUP' })).body).toEqual({ status: 400, error: expect.any(String) });
  });

  it.each(paths)('%s treats HEAD as GET without a body, or as 405 if GET has an effect', async (path) => {
    const methods = listMethods(path);
    const { status, body, headers } = await api.get(path, { method: 'HEAD' });
    expect(body).toBeUndefined();
    expect(status === 405).toBe(!methods.includes('HEAD'));
    expect(headers.get('allow')).toBe(methods.includes('HEAD') ? null : [...methods, 'OPTIONS'].join(', '));
  });

  it.each(paths.flatMap((path) => [`${path}/x`, path.toUpperCase(), `/${path}`]))('%s is not a path', async (path) => {
    expect((await api.get(path)).body).toEqual({ status: 404, error: `There is no GET /api/v1${path}.` });
  });

  it.each(routes.map((route) => [routeName(route), route] as const))(
    '%s has a rate limit with headers, and 503 only if the interface lists it',
    (_name, { errors, bucket, timeoutMs: limitMs }) => {
      expect(bucket).toMatch(/^(health|reads|command|stream)$/);
      expect(errors).toHaveProperty('429');
      expect(limitMs !== undefined).toBe(bucket === 'command' && 503 in errors);
    },
  );
});
