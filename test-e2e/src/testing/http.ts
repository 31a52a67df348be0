import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { expect } from '@jest/globals';

/** A whole answer as it came over the wire. */
export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface HttpOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Text and bytes go out as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Address that the caller comes from: all of 127.0.0.0/8 is this machine, and limits count by address. */
  readonly from?: string;
}

/** Sends a request whose path goes out byte by byte as it stands, malformed escapes included, on a connection of its own. */
export function send(baseUrl: string, path: string, options: HttpOptions = {}): Promise<HttpReply> {
  const { hostname, port } = new URL(baseUrl);
  const { method = 'GET', from } = options;
  const bytes = toBytes(options.body);
  const headers = { ...(bytes === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, path, method, headers, agent: false, ...(from === undefined ? {} : { localAddress: from }) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
      },
    );
    request.on('error', reject);
    // Node announces the length of what is given to end(), unless a header says that it comes in chunks.
    request.end(bytes);
  });
}

function toBytes(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body;
  return JSON.stringify(body);
}

/** Asserts an error of the Device API: exactly the two fields, the status repeated, a sentence, and the request's id. Gives the sentence. */
export function expectApiError(reply: HttpReply, status: number): string {
  expect(reply).toMatchObject({ status, headers: { 'content-type': expect.stringMatching(/^application\/json/) } });
  const body = JSON.parse(reply.text) as { status: number; error: string };
  expect(body).toEqual({ status, error: expect.stringMatching(/^[A-Z].*[.!?]$/s) });
  expect(reply.headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  return body.error;
}
