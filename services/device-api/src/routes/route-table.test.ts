import type { Route } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../config.ts';
import type { Deps } from '../deps.ts';
import { badJson, badTexts, type PartSchema, partOf, sampleOf } from '../testing/bad-forms.ts';
import { type Answer, World } from '../testing/world.ts';
import { deviceApiRoutes } from './index.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: World;
let api: Awaited<ReturnType<World['service']>>;
beforeAll(async () => {
  world = await World.open();
  api = await world.service();
});
afterAll(() => world.close());

const routes = deviceApiRoutes({ config: loadConfig({}) } as Deps);
const nameOf = ({ method, path }: Route): string => `${method.toUpperCase()} ${path}`;

interface Row {
  readonly route: Route;
  readonly name: string;
  readonly schema: PartSchema;
}
const partSchema = (route: Route, part: 'query' | 'body'): PartSchema => route[part] ?? {};
const rowsOf = (part: 'query' | 'body'): [string, string, Row][] =>
  routes.flatMap((route) =>
    Object.entries(partSchema(route, part).properties ?? {}).map(([name, schema]): [string, string, Row] => [
      nameOf(route),
      name,
      { route, name, schema },
    ]),
  );
const isRequired = (route: Route, part: 'query' | 'body', name: string): boolean =>
  partSchema(route, part).required?.includes(name) === true;

/** Returns a query with all required parameters except one, and with more after it. */
function queryWithout(route: Route, name: string, more = ''): string {
  const schema = partSchema(route, 'query');
  const others = (schema.required ?? []).filter((other) => other !== name);
  const parts = others.map((other) => `${other}=${encodeURIComponent(String(sampleOf(partOf(schema, other))))}`);
  return [...parts, ...(more === '' ? [] : [more])].join('&');
}

const sampleBody = (route: Route): Record<string, unknown> | undefined =>
  route.body === undefined ? undefined : (sampleOf(route.body) as Record<string, unknown>);

interface Sent {
  readonly query: string;
  readonly body?: string | undefined;
}

async function send(route: Route, { query, body = JSON.stringify(sampleBody(route)) }: Sent): Promise<Answer> {
  const init = { method: route.method.toUpperCase(), ...(body === undefined ? {} : { body }) };
  return api.get(`${route.path}?${query}`, init);
}

/** Returns the responses, and the number of commands that devices received. */
async function refusals(route: Route, requests: readonly Sent[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const request of requests) {
    const before = world.commands.length;
    const { status, body } = await send(route, request);
    answers.push({ ...shown(request), status, answer: body, commands: world.commands.length - before });
  }
  return answers;
}

/** Expects 400 for each, with the parameter or field in its message, and no command. */
const refused = (name: string, requests: readonly Sent[]): unknown[] =>
  requests.map((request) => ({
    ...shown(request),
    status: 400,
    answer: { status: 400, error: expect.stringMatching(new RegExp(`^The .*\\b${name}\\b.*\\.$`, 's')) },
    commands: 0,
  }));

const shown = ({ query, body }: Sent) => ({ query: query.slice(0, 300), body: body?.slice(0, 300) });

describe('each query parameter of each route', () => {
  it.each(rowsOf('query'))('%s: rejects each invalid form of %s by name', async (_route, name, { route, schema }) => {
    const forms = badTexts(schema).map((text) => `${name}=${encodeURIComponent(text)}`);
    const requests = forms.map((form) => ({ query: queryWithout(route, name, form) }));
    expect(await refusals(route, requests)).toEqual(refused(name, requests));
  });

  it.each(rowsOf('query'))(
    '%s: rejects %s given twice, or absent although required',
    async (_route, name, { route, schema }) => {
      const once = `${name}=${encodeURIComponent(String(sampleOf(schema)))}`;
      const twice = [`${once}&${once}`, `${name}=&${once}`];
      const leftOut = isRequired(route, 'query', name) ? ['', once.replace('=', '%5B%5D=')] : [];
      const requests = [...twice, ...leftOut].map((form) => ({ query: queryWithout(route, name, form) }));
      expect(await refusals(route, requests)).toEqual(refused(name, requests));
    },
  );
});

describe('each field of each body', () => {
  it.each(rowsOf('body'))('%s: rejects %s of another type by name', async (_route, name, { route, schema }) => {
    const rest = Object.entries(sampleBody(route) ?? {}).filter(([other]) => other !== name);
    const member = (key: string, text: string): string => `${JSON.stringify(key)}:${text}`;
    const bodyWith = (...more: string[]): string =>
      `{${[...rest.map(([key, value]) => member(key, JSON.stringify(value))), ...more].join(',')}}`;
    const good = member(name, JSON.stringify(sampleOf(schema)));
    const bodies = [
      ...badJson(schema).map((text) => bodyWith(member(name, text))),
      bodyWith(good, good),
      ...(isRequired(route, 'body', name) ? [bodyWith()] : []),
    ];
    const requests = bodies.map((body) => ({ query: queryWithout(route, ''), body }));
    expect(await refusals(route, requests)).toEqual(refused(name, requests));
  });
});

describe('each route', () => {
  it.each(routes.map((route) => [nameOf(route), route] as const))(
    '%s accepts the example of its schema',
    async (_name, route) => {
      const { status } = await send(route, { query: queryWithout(route, '') });
      expect([200, ...Object.keys(route.errors).map(Number)]).toContain(status);
      expect([400, 500]).not.toContain(status);
    },
  );

  const methodsOf = (path: string): string[] =>
    routes
      .filter((route) => route.path === path)
      .flatMap(({ method, allowHead: answersHead }) =>
        method === 'get' && answersHead !== false ? ['GET', 'HEAD'] : [method.toUpperCase()],
      );
  const paths = [...new Set(routes.map(({ path }) => path))];

  it.each(paths)('%s returns its methods to OPTIONS, and 405 to other methods', async (path) => {
    const methods = methodsOf(path);
    const allow = [...methods, 'OPTIONS'].join(', ');
    const options = await api.get(path, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow'), options.body]).toEqual([204, allow, undefined]);
    const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].filter((method) => !methods.includes(method));
    for (const method of others) {
      const { status, headers, body } = await api.get(path, { method });
      expect([method, status, headers.get('allow')]).toEqual([method, 405, allow]);
      expect(body).toEqual({ status: 405, error: `${method} is not a method of this path; it takes ${allow}.` });
    }
    // Node.js rejects unknown methods itself.
    expect((await api.get(path, { method: 'MADEUP' })).body).toEqual({ status: 400, error: expect.any(String) });
  });

  it.each(paths)('%s treats HEAD as GET without a body, or as 405 if GET has an effect', async (path) => {
    const methods = methodsOf(path);
    const { status, body, headers } = await api.get(path, { method: 'HEAD' });
    expect(body).toBeUndefined();
    expect(status === 405).toBe(!methods.includes('HEAD'));
    expect(headers.get('allow')).toBe(methods.includes('HEAD') ? null : [...methods, 'OPTIONS'].join(', '));
  });

  it.each(paths.flatMap((path) => [`${path}/x`, path.toUpperCase(), `/${path}`]))('%s is not a path', async (path) => {
    expect((await api.get(path)).body).toEqual({ status: 404, error: `There is no GET /api/v1${path}.` });
  });

  it.each(routes.map((route) => [nameOf(route), route] as const))(
    '%s has a rate limit with headers, and 503 only if the interface lists it',
    (_name, { errors, bucket, timeoutMs: limitMs }) => {
      expect(bucket).toMatch(/^(health|reads|command|stream)$/);
      expect(errors).toHaveProperty('429');
      expect(limitMs !== undefined).toBe(bucket === 'command' && 503 in errors);
    },
  );
});
