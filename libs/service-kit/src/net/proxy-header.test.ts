import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, property, uint8Array } from 'fast-check';
import { readProxyHeader } from './proxy-header.ts';

const signature = '0d0a0d0a000d0a515549540a';
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const tcp4 = hex(`${signature} 21 11 000c cb007109 0a000001 c350 1e80`);
const tcp6 = hex(`${signature} 21 21 0024 20010db8000000000000000000000009 20010db8000000000000000000000001 c350 1e80`);

const complete: readonly (readonly [title: string, bytes: Buffer, client: object | null])[] = [
  [
    'a line for IPv4',
    Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.1 50000 7808\r\n'),
    { address: '203.0.113.9', port: 50_000 },
  ],
  [
    'a line for IPv6',
    Buffer.from('PROXY TCP6 2001:db8::9 2001:db8::1 50000 7808\r\n'),
    { address: '2001:db8::9', port: 50_000 },
  ],
  ['an UNKNOWN line', Buffer.from('PROXY UNKNOWN ffff::1 anything\r\n'), null],
  ['a binary header for IPv4', tcp4, { address: '203.0.113.9', port: 50_000 }],
  ['a binary header for IPv6', tcp6, { address: '2001:db8::9', port: 50_000 }],
  [
    'a binary header with an extension',
    hex(`${signature} 21 11 0013 cb007109 0a000001 c350 1e80 04 0004 00000000`),
    { address: '203.0.113.9', port: 50_000 },
  ],
  ['a LOCAL header', hex(`${signature} 20 00 0000`), null],
  ['a binary header without a family', hex(`${signature} 21 00 0000`), null],
];

describe('readProxyHeader', () => {
  it.each(complete)('reads %s, followed by data', (_title, bytes, client) => {
    const withData = Buffer.concat([bytes, Buffer.from('7e0002', 'hex')]);
    expect(readProxyHeader(withData)).toEqual({ kind: 'complete', lengthBytes: bytes.length, client });
  });

  it.each(complete)('waits for the rest of %s', (_title, bytes) => {
    for (let length = 0; length < bytes.length; length += 1)
      expect(readProxyHeader(bytes.subarray(0, length))).toEqual({ kind: 'incomplete' });
  });

  it.each([
    ['another protocol', Buffer.from('7e0002', 'hex')],
    ['a line without an end', Buffer.from(`PROXY TCP4 ${'1'.repeat(107)}`)],
    ['an address of the other family', Buffer.from('PROXY TCP4 2001:db8::9 2001:db8::1 1 2\r\n')],
    ['a port above 65535', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.1 65536 7808\r\n')],
    ['a missing port', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.1 50000\r\n')],
    ['another field', Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.1 50000 7808 x\r\n')],
    ['another transport', Buffer.from('PROXY UDP4 203.0.113.9 10.0.0.1 50000 7808\r\n')],
    ['an unknown version', hex(`${signature} 31 11 000c cb007109 0a000001 c350 1e80`)],
    ['an unknown command', hex(`${signature} 22 11 000c cb007109 0a000001 c350 1e80`)],
    ['datagrams', hex(`${signature} 21 12 000c cb007109 0a000001 c350 1e80`)],
    ['addresses that are too short', hex(`${signature} 21 11 0004 cb007109`)],
    ['extensions of 5,000 bytes', hex(`${signature} 21 11 1388`)],
  ])('rejects %s', (_title, bytes) => {
    expect(readProxyHeader(bytes)).toEqual({ kind: 'invalid' });
  });

  it('never throws, and reads at most 4,112 bytes', () => {
    const prefixes = constantFrom(
      Buffer.from('PROXY '),
      Buffer.from('PROXY TCP4 '),
      hex(signature),
      hex(`${signature}2111`),
    );
    const readBytes = (bytes: Buffer): number => {
      const header = readProxyHeader(bytes);
      if (header.kind === 'incomplete') return bytes.length;
      return header.kind === 'complete' ? header.lengthBytes : 0;
    };
    const isBounded = property(
      prefixes,
      uint8Array({ maxLength: 5_000 }),
      (prefix, rest) => readBytes(Buffer.concat([prefix, rest])) <= 4_112,
    );
    expect(() => assert(isBounded)).not.toThrow();
  });
});
