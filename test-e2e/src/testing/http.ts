import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { expect } from '@jest/globals';

/** A complete response as received. */
export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface HttpOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Text and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** Source address of the caller: all of 127.0.0.0/8 is this machine, and limits count by address. */
  readonly from?: string;
}

/** Sends a request on a separate connection. The path is sent byte by byte, malformed escapes included. */
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
    // Node sends the length of what is passed to end(), unless a header requests chunked encoding.
    request.end(bytes);
  });
}

function toBytes(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body;
  return JSON.stringify(body);
}

/**
 * Asserts an error of the Device API: exactly the two fields, the repeated status, a sentence, and the request id.
 * Returns the sentence.
 */
export function expectApiError(reply: HttpReply, status: number): string {
  expect(reply).toMatchObject({ status, headers: { 'content-type': expect.stringMatching(/^application\/json/) } });
  const body = JSON.parse(reply.text) as { status: number; error: string };
  expect(body).toEqual({ status, error: expect.stringMatching(/^[A-Z].*[.!?]$/s) });
  expect(reply.headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  return body.error;
}
