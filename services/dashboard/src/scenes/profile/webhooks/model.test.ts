import { describe, expect, it } from '@jest/globals';
import { toAdviceKey, toCurl, toHeaders } from './model.ts';

describe('the advice for an attempt', () => {
  it.each([
    [204, 'success'],
    [302, 'redirect'],
    [401, 'unauthorized'],
    [404, 'notFound'],
    [410, 'gone'],
    [422, 'clientError'],
    [429, 'tooMany'],
    [503, 'serverError'],
    [null, 'unknown'],
  ])('of status %s is %s', (status, key) => {
    expect(toAdviceKey({ status_code: status, error_code: null })).toBe(key);
  });

  it('is that of the error if there was no response', () => {
    expect(toAdviceKey({ status_code: null, error_code: 'tls_error' })).toBe('tls_error');
  });
});

describe('a request as a curl command', () => {
  it('quotes every part for the shell', () => {
    const request = { headers: { 'X-Note': "driver's" }, body: '{"a":"$HOME"}' };
    expect(toCurl('https://example.com/hook?a=1&b=2', request)).toBe(
      `curl -X POST 'https://example.com/hook?a=1&b=2' \\\n  -H 'X-Note: driver'\\''s' \\\n  --data-raw '{"a":"$HOME"}'`,
    );
  });
});

describe('the headers of the editor', () => {
  it('omit rows without a name', () => {
    const rows = [
      { name: ' X-Tenant ', value: '7' },
      { name: '', value: 'lost' },
    ];
    expect(toHeaders(rows)).toEqual({ 'X-Tenant': '7' });
  });
});
