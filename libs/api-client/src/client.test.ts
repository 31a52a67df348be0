import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiFailure } from './api-failure.ts';
import { createPlatformClient } from './client.ts';

let server: Server | undefined;

afterEach(async () => {
  await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  server = undefined;
});

interface Respond {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}

/** Starts a server that sends one response to every request. Returns its URL and the headers it received. */
async function startServer({ status, headers = {}, body }: Respond) {
  const received: IncomingHttpHeaders[] = [];
  const started = createServer((request, response) => {
    received.push(request.headers);
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers }).end(body);
  });
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(started.address() as AddressInfo).port}`, received };
}

const createClientOf = (baseUrl: string) =>
  createPlatformClient({ baseUrl, getCredentials: () => ({ apiKey: 'fk_test', accessToken: 'token', accountId: 7 }) });

async function findFailure(promise: Promise<unknown>): Promise<ApiFailure> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiFailure)) throw new Error(`no ApiFailure: ${String(error)}`);
  return error;
}

describe('the client of the Platform API', () => {
  it('sends both credentials and the account, and returns the data', async () => {
    const { url, received } = await startServer({ status: 200, body: '{"data":{"id":1}}' });
    const { data } = await createClientOf(url).GET('/api/auth/me');
    expect(data).toEqual({ data: { id: 1 } });
    expect(received[0]).toMatchObject({ 'x-api-key': 'fk_test', authorization: 'Bearer token', 'x-account-id': '7' });
  });

  it('throws the code, the faults and the request id of an error response', async () => {
    const details = [{ path: '/name', message: 'must not be empty' }];
    const body = JSON.stringify({ status: 400, error: 'name is empty.', code: 'validation_failed', details });
    const { url } = await startServer({ status: 400, body, headers: { 'x-request-id': 'r1' } });
    const failure = await findFailure(createClientOf(url).GET('/api/drivers'));
    expect(failure).toMatchObject({ status: 400, code: 'validation_failed', details, requestId: 'r1' });
    expect(failure.message).toBe('name is empty.');
  });

  it('throws the time to wait after too many requests', async () => {
    const { url } = await startServer({ status: 429, body: '{}', headers: { 'retry-after': '12' } });
    const failure = await findFailure(createClientOf(url).GET('/api/drivers'));
    expect([failure.status, failure.retryAfterSeconds]).toEqual([429, 12]);
  });

  it('throws the status of an error response that is not JSON', async () => {
    const { url } = await startServer({ status: 502, body: '<html>' });
    const failure = await findFailure(createClientOf(url).GET('/api/drivers'));
    expect([failure.status, failure.code]).toEqual([502, 'http_502']);
  });

  it('throws a network failure if the server cannot be reached', async () => {
    const { url } = await startServer({ status: 200, body: '{}' });
    await new Promise<void>((resolve) => server?.close(() => resolve()));
    const failure = await findFailure(createClientOf(url).GET('/api/drivers'));
    expect([failure.status, failure.code]).toEqual([0, 'network_failure']);
  });
});
