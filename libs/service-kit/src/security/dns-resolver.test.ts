import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createDnsResolver, type DnsResolver } from './dns-resolver.ts';
import { SsrfGuard } from './ssrf-guard.ts';

// Tests wait for silent name servers.
jest.setTimeout(60_000);

const rcodes = { noError: 0, serverFailure: 2, noSuchName: 3 };
const types = { a: 1, aaaa: 28 };

/** Records by name and type; a name without any does not exist, and a `silent` one gets no response. */
type Zone = Readonly<
  Record<string, 'silent' | 'failing' | { readonly a?: string; readonly aaaa?: string; readonly isSilentOnAaaa?: true }>
>;

/** Names whose first IPv4 query is lost: the retry is later than the IPv6 response. */
const lostOnA = new Set(['slow.example']);

/** Response of a name server to a query. */
function respondTo(query: Buffer, zone: Zone): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += length + 1;
  }
  const name = labels.join('.').toLowerCase();
  const known = zone[name];
  if (known === 'silent') return undefined;
  const type = query.readUInt16BE(at + 1);
  if (type === types.a && lostOnA.delete(name)) return undefined;
  const question = query.subarray(12, at + 5);
  const rcode = known === undefined ? rcodes.noSuchName : known === 'failing' ? rcodes.serverFailure : rcodes.noError;
  if (typeof known === 'object' && type === types.aaaa && known.isSilentOnAaaa === true) return undefined;
  const data = typeof known === 'object' ? encodeRecordData(type, known) : undefined;
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | rcode, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data === undefined ? 0 : 1, 6);
  if (data === undefined) return Buffer.concat([head, question]);
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, question, record, data]);
}

function encodeRecordData(
  type: number,
  { a, aaaa }: { readonly a?: string; readonly aaaa?: string },
): Buffer | undefined {
  if (type === types.a && a !== undefined) return Buffer.from(a.split('.').map(Number));
  return type === types.aaaa && aaaa !== undefined ? Buffer.from(aaaa.replaceAll(':', ''), 'hex') : undefined;
}

const six = '2606:4700:4700:0000:0000:0000:0000:1111';
const zone: Zone = {
  'both.example': { a: '8.8.8.8', aaaa: six },
  'four.example': { a: '9.9.9.9' },
  'empty.example': {},
  'half.example': { a: '9.9.9.9', isSilentOnAaaa: true },
  'slow.example': { a: '9.9.9.9', aaaa: six },
  'silent.example': 'silent',
  'failing.example': 'failing',
  'own.example': { a: '1.1.1.1' },
};

describe('DNS lookup of user-supplied names', () => {
  let server: Socket;
  let dir: string;
  let requestedHosts: string[];
  let queries = 0;
  let system: DnsResolver;
  let resolve: DnsResolver;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'fleet-hosts-'));
    writeFileSync(join(dir, 'hosts'), '127.0.0.1 localhost\n10.0.0.7\tOwn.example alias.example # not.example\n');
    server = createSocket('udp4');
    server.on('message', (query, { port, address }) => {
      queries += 1;
      const recordData = respondTo(query, zone);
      if (recordData !== undefined) server.send(recordData, port, address);
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => {
    requestedHosts = [];
    system = async (host) => {
      requestedHosts.push(host);
      return [{ address: '10.0.0.7', family: 4 }];
    };
    const servers = [`127.0.0.1:${server.address().port}`];
    resolve = createDnsResolver({ servers, system: (host) => system(host), hostsFile: join(dir, 'hosts') });
  });
  afterAll(() => {
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('queries name servers for addresses of both families', async () => {
    expect(await resolve('both.example')).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700:4700::1111', family: 6 },
    ]);
    expect(await resolve('FOUR.example.')).toEqual([{ address: '9.9.9.9', family: 4 }]);
    expect(requestedHosts).toEqual([]);
  });

  it('uses the system for single words, the hosts file, and names unknown to the name servers', async () => {
    const own = ['localhost', 'receiver', 'own.example', 'ALIAS.example.', 'receiver.default.svc', 'empty.example'];
    for (const host of own) expect(await resolve(host)).toEqual([{ address: '10.0.0.7', family: 4 }]);
    expect(requestedHosts).toEqual(own);
  });

  it('delays no other lookup while a name server is silent or fails', async () => {
    const silent = Promise.all(Array.from({ length: 50 }, () => resolve('silent.example')));
    expect(await resolve('four.example')).toEqual([{ address: '9.9.9.9', family: 4 }]);
    expect(new Set((await silent).map(({ length }) => length))).toEqual(new Set([0]));
    expect(await resolve('failing.example')).toEqual([]);
    // The system would have used a thread for each.
    expect(requestedHosts).toEqual([]);
  });

  it('finds a name whose server never replies to IPv6 queries', async () => {
    // The same server twice: each server of a system would be waited for.
    const { port } = server.address();
    const servers = [`127.0.0.1:${port}`, `[::ffff:127.0.0.1]:${port}`];
    const guard = new SsrfGuard({ resolve: createDnsResolver({ servers, system }) });
    expect(await guard.check('https://half.example/')).toMatchObject({
      kind: 'allowed',
      addresses: [{ address: '9.9.9.9', family: 4 }],
    });
    expect(requestedHosts).toEqual([]);
  });

  it('waits for IPv4 if IPv6 is known first: many machines have no IPv6 route', async () => {
    const { port } = server.address();
    const twice = createDnsResolver({ servers: [`127.0.0.1:${port}`, `[::ffff:127.0.0.1]:${port}`], system });
    expect(await twice('slow.example')).toEqual([
      { address: '9.9.9.9', family: 4 },
      { address: '2606:4700:4700::1111', family: 6 },
    ]);
  });

  it('queries the system for one unknown name at a time', async () => {
    const before = queries;
    let inFlight = 0;
    let most = 0;
    system = async () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      // Until name servers were queried for both families of all three.
      await waitFor(() => queries >= before + 6);
      inFlight -= 1;
      return [];
    };
    expect(await Promise.all([1, 2, 3].map((n) => resolve(`nowhere-${n}.example`)))).toEqual([[], [], []]);
    expect(most).toBe(1);
  });
});
