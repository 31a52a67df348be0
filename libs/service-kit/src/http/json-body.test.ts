import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { AppError } from './errors.ts';
import { parseJsonBody, readBytes } from './json-body.ts';

const read = (text: string): unknown => parseJsonBody(Buffer.from(text));

function catchError(text: string): AppError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('the body was accepted');
}

const nested = (levels: number, [open, close]: readonly [string, string] = ['[', ']']): string =>
  open.repeat(levels) + close.repeat(levels);

describe('a body whose client disconnects before it is read', () => {
  it('is rejected without waiting', async () => {
    const reading = new Promise<unknown>((resolve) => {
      const server = createServer((request) => {
        request.once('close', () => {
          server.close();
          resolve(readBytes(request, 1000).catch((error: unknown) => error));
        });
      });
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        const socket = connect(port, '127.0.0.1', () => {
          socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{"te');
          server.once('request', () => socket.destroy());
        });
      });
    });
    expect(await reading).toMatchObject({ status: 400, message: 'The request body is incomplete.' });
  });
});

describe('a JSON body', () => {
  it('is parsed with any content of its strings', () => {
    const value = { a: ['[[[', '{"', '\\', '\\"]'], b: { c: null } };
    expect(read(JSON.stringify(value))).toEqual(value);
    expect(read(JSON.stringify({ text: '['.repeat(1_000) }))).toEqual({ text: '['.repeat(1_000) });
    expect(read(`[${'[],'.repeat(1_000)}{}]`)).toHaveLength(1_001);
  });

  it.each(['{', '"', '"\\', '[1', '["a', ']', '[]]', 'nothing'])('is rejected if it is invalid: %s', (text) => {
    expect(catchError(text).code).toBe('malformed_json');
  });

  it.each([
    ['lists', nested(65)],
    ['objects', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`],
    ['lists without an end', '['.repeat(1_000_000)],
    ['a million levels', nested(1_000_000)],
  ])('is rejected if it is nested too deeply: %s', (_what, text) => {
    expect(catchError(text)).toMatchObject({ status: 400, code: 'validation_failed' });
  });

  it('may have 64 levels', () => {
    expect(JSON.stringify(read(nested(64)))).toBe(nested(64));
  });
});
