import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ResolvedAddress } from './dns-resolver.ts';
import { isPublicAddress, maxUrlLength, SsrfGuard } from './ssrf-guard.ts';

const refused: readonly (readonly [string, readonly string[]])[] = [
  ['this network', ['0.0.0.0', '0.1.2.3']],
  ['private', ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255']],
  ['shared by carriers (100.64/10)', ['100.64.0.1', '100.127.255.255']],
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
  ['link-local and metadata', ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%eth0']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1']],
  ['reserved', ['192.0.0.1', '240.0.0.1', '255.255.255.255', '::', '4000::1', '5f00::1', '2001:1::1', '100::1']],
  ['relays', ['192.88.99.1', '192.52.193.1', '192.31.196.1', '192.175.48.1', '2001:3::1', '2620:4f:8000::1']],
  ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
  ['benchmarking', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
  ['IPv6 unique-local and site-local', ['fc00::1', 'fd00::1', 'fd00:ec2::254', 'fec0::1']],
  ['overlays', ['2001:10::1', '2001:20::1', '2001:30::1']],
  ['mapped', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:0:127.0.0.1']],
  ['IPv4-compatible', ['::127.0.0.1', '::7f00:1', '::808:808']],
  ['NAT64', ['64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::8.8.8.8']],
  ['6to4', ['2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::1']],
  // Teredo: the client's bits are inverted; a private server is rejected too.
  ['Teredo', ['2001::80ff:fffe', '2001:0:808:808::80ff:fffe', '2001:0:a00:1::f7f7:f7f7']],
  ['ISATAP', ['2606:4700::5efe:7f00:1', '2606:4700::200:5efe:a00:1']],
];
const allowed = [
  '8.8.8.8',
  '1.1.1.1',
  '172.32.0.1',
  '100.128.0.1',
  '126.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450::1',
  // With a public address inside.
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
  '2001:0:808:808::f7f7:f7f7',
  '2606:4700::5efe:808:808',
];

const nameFor =
  (...addresses: string[]) =>
  (): Promise<ResolvedAddress[]> =>
    Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));

describe('isPublicAddress', () => {
  it.each(refused)('rejects addresses that are %s', (_kind, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
  it('accepts public addresses', () => {
    expect(allowed.filter((address) => !isPublicAddress(address))).toEqual([]);
  });
  it('rejects text that is not an address', () => {
    expect(['', 'localhost', '1', '0x7f.1', '8.8.8.8/8'].filter(isPublicAddress)).toEqual([]);
  });
});

describe('AddressGuard', () => {
  const open = new SsrfGuard({ resolve: nameFor('8.8.8.8', '2606:4700:4700::1111') });

  it('accepts an https URL whose host has only public addresses', async () => {
    const verdict = await open.check('https://hooks.example.com/fleet?key=1');
    expect(verdict).toMatchObject({ kind: 'allowed', addresses: [{ address: '8.8.8.8' }, { family: 6 }] });
    expect(await open.check('https://hooks.example.com:8443/')).toMatchObject({ kind: 'allowed' });
    expect(await open.check('https://9.9.9.9/')).toMatchObject({ kind: 'allowed' });
  });

  it.each([
    ['no URL', 'hooks.example.com'],
    ['http', 'http://hooks.example.com/'],
    ['another scheme', 'ftp://hooks.example.com/'],
    ['a user name', 'https://user@hooks.example.com/'],
    ['a password', 'https://:pw@hooks.example.com/'],
    ['a fragment', 'https://hooks.example.com/#part'],
    ['an empty fragment', 'https://hooks.example.com/#'],
    ['port 80', 'https://hooks.example.com:80/'],
    ['port 22', 'https://hooks.example.com:22/'],
    ['port 0', 'https://hooks.example.com:0/'],
    ['too many characters', `https://hooks.example.com/${'a'.repeat(maxUrlLength)}`],
  ])('rejects a URL with %s', async (_fault, url) => {
    expect(await open.check(url)).toMatchObject({ kind: 'badUrl' });
  });

  it.each([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '0',
    '169.254.169.254',
    '10.0.0.8',
    '100.64.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[fd00::1]',
    '[64:ff9b::7f00:1]',
    '[::]',
    '１２７.0.0.1',
  ])('rejects the address %s in every notation', async (host) => {
    expect(await open.check(`https://${host}/`)).toMatchObject({ kind: 'blockedAddress' });
  });

  it('rejects names that the system resolves to this machine', async () => {
    for (const host of ['localhost', 'LOCALHOST.'])
      expect(await new SsrfGuard().check(`https://${host}/`)).toMatchObject({
        kind: expect.stringMatching(/blockedAddress|unresolved/),
      });
  });

  it('rejects a name with one private address, and one without addresses', async () => {
    const mixed = new SsrfGuard({ resolve: nameFor('8.8.8.8', '10.0.0.1') });
    expect(await mixed.check('https://mixed.example/')).toMatchObject({ kind: 'blockedAddress' });
    const none = new SsrfGuard({ resolve: nameFor() });
    expect(await none.check('https://none.example/')).toMatchObject({ kind: 'unresolved' });
    const failing = new SsrfGuard({ resolve: () => Promise.reject(new Error('ENOTFOUND')) });
    expect(await failing.check('https://none.example/')).toMatchObject({ kind: 'unresolved' });
  });

  it('accepts http and port 80 where they are allowed, and networks of the settings', async () => {
    const lax = new SsrfGuard({ allowHttp: true, allowedCidrs: ['127.0.0.0/8'], resolve: nameFor('127.0.0.1') });
    expect(await lax.check('http://receiver.test/')).toMatchObject({ kind: 'allowed' });
    expect(await lax.check('http://127.0.0.1:3000/')).toMatchObject({ kind: 'allowed' });
    expect(await lax.check('http://[::ffff:127.0.0.1]:3000/')).toMatchObject({ kind: 'allowed' });
    expect(await lax.check('http://10.0.0.1:3000/')).toMatchObject({ kind: 'blockedAddress' });
    expect(await lax.check('http://receiver.test:81/')).toMatchObject({ kind: 'badUrl' });
    expect(() => new SsrfGuard({ allowedCidrs: ['everything'] })).toThrow(/CIDR/);
  });
});

describe('a name that changes between check and connection', () => {
  let port: number;
  let reached: string[];
  const server = createServer((incoming, response) => {
    reached.push(incoming.headers.host ?? '');
    response.end('here');
  });
  beforeEach(async () => {
    reached = [];
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    server.close();
    await once(server, 'close');
  });

  it('connects to the checked address', async () => {
    // First to an allowed address; then, as an attacker's name server would, to another.
    const resolvedAddresses = ['127.0.0.1', '127.0.0.2', '10.0.0.1'];
    const resolve = () => nameFor(resolvedAddresses.shift() ?? '')();
    const guard = new SsrfGuard({ allowHttp: true, allowedCidrs: ['127.0.0.1/32'], resolve });
    const verdict = await guard.check(`http://rebinding.example:${port}/`);
    if (verdict.kind !== 'allowed') throw new Error(verdict.reason);
    for (const autoSelectFamily of [true, false]) {
      const options = { lookup: verdict.lookup, autoSelectFamily, agent: false } as const;
      const outgoing = request(verdict.url, options);
      outgoing.end();
      const [response] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
      response.resume();
      await once(response, 'end');
    }
    expect(reached).toEqual([`rebinding.example:${port}`, `rebinding.example:${port}`]);
    expect(resolvedAddresses).toEqual(['127.0.0.2', '10.0.0.1']);
    expect(await guard.check(`http://rebinding.example:${port}/`)).toMatchObject({ kind: 'blockedAddress' });
  });

  it('finds no address of a family that was not checked', async () => {
    const guard = new SsrfGuard({ resolve: nameFor('8.8.8.8') });
    const verdict = await guard.check('https://only-four.example/');
    if (verdict.kind !== 'allowed') throw new Error(verdict.reason);
    const found = await new Promise((resolve) => {
      verdict.lookup('only-four.example', { family: 6 }, (error, address) => resolve(error ?? address));
    });
    expect(found).toBeInstanceOf(Error);
  });
});
