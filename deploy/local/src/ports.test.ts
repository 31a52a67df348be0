import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { freePort } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import {
  blockedHttpPort,
  claimFreeOffset,
  claimPorts,
  describeTakenPort,
  findFreeOffset,
  findTakenPort,
  hitsBlockedPort,
  maxPortOffset,
  planPorts,
} from './ports.ts';

describe('planPorts', () => {
  it('returns the documented ports without an offset', () => {
    expect(planPorts(0)).toMatchObject({
      proxy: 8080,
      deviceApi: 8083,
      jt808: 7808,
      mediaLive: 7078,
      ftp: 2121,
      attachments: 7077,
      nats: 14_222,
    });
  });

  it('moves every port by the offset, up to the last valid one', () => {
    const moved = planPorts(maxPortOffset);
    expect(moved.jt808).toBe(7808 + maxPortOffset);
    expect(Math.max(...Object.values(moved))).toBe(65_535);
  });
});

describe('hitsBlockedPort', () => {
  it('finds exactly the offsets whose HTTP ports fetch refuses', async () => {
    for (const offset of [0, 100, 1991, 2001, 2500]) expect(hitsBlockedPort(offset)).toBe(false);
    for (const offset of [1992, 1993, 1996, 2000]) expect(hitsBlockedPort(offset)).toBe(true);
    await expect(fetch(`http://127.0.0.1:${blockedHttpPort}/`)).rejects.toMatchObject({
      cause: { message: 'bad port' },
    });
  });
});

describe('claimPorts', () => {
  const claims = claimPorts(planPorts(0), '0.0.0.0', ['redis']);

  it('binds the ports behind the proxy, health and metrics, and the backends, to loopback', () => {
    const loopback = claims.filter(({ host }) => host === '127.0.0.1').map(({ port }) => port);
    expect(loopback.toSorted((a, b) => a - b)).toEqual([8082, 8084, 8087, 8088, 8089, 8091, 8092, 8093, 8094, 16_379]);
  });

  it('claims the camera ports for TCP and UDP, the attachment port and every passive FTP port', () => {
    const of = (port: number): string[] =>
      claims.filter((claim) => claim.port === port).map(({ protocol }) => protocol);
    expect(of(7078).toSorted()).toEqual(['tcp', 'udp']);
    expect(of(7079).toSorted()).toEqual(['tcp', 'udp']);
    expect(of(7090).toSorted()).toEqual(['tcp', 'udp']);
    expect([7077, 30_000, 30_050, 30_099].map(of)).toEqual([['tcp'], ['tcp'], ['tcp'], ['tcp']]);
  });

  it('claims no port twice for one protocol', () => {
    const names = claims.map(({ port, protocol }) => `${protocol} ${port}`);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('findTakenPort', () => {
  it('returns the claim whose TCP port is in use by another process', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const claim = { purpose: 'JT/T 808', host: '127.0.0.1', port, protocol: 'tcp' as const };
    const taken = await findTakenPort([claim]);
    holder.close();
    expect(taken).toEqual({ claim, reason: 'EADDRINUSE' });
    expect(describeTakenPort({ claim, reason: 'EADDRINUSE' })).toMatch(
      /TCP port \d+ on 127.0.0.1 \(JT\/T 808\) is taken/,
    );
  });

  it('detects a UDP port in use although the same TCP port is free', async () => {
    // Uses a port of this worker: an ephemeral one may be in use for both TCP and UDP by the same connection.
    const port = await freePort();
    const holder = createSocket('udp4').bind(port, '127.0.0.1');
    await once(holder, 'listening');
    const udp = { purpose: 'JT/T 1078', host: '127.0.0.1', port, protocol: 'udp' as const };
    const tcp = { ...udp, protocol: 'tcp' as const };
    expect(await findTakenPort([tcp, udp])).toEqual({ claim: udp, reason: 'EADDRINUSE' });
    await new Promise<void>((resolve) => holder.close(() => resolve()));
  });

  it('reports an address that this machine does not have', async () => {
    const claim = { purpose: 'the reverse proxy', host: '192.0.2.1', port: 40_000, protocol: 'tcp' as const };
    const taken = await findTakenPort([claim]);
    expect(taken?.reason).toBe('EADDRNOTAVAIL');
    expect(describeTakenPort({ claim, reason: 'EADDRNOTAVAIL' })).toContain('set HOST');
  });
});

describe('findFreeOffset', () => {
  it('finds an offset whose ports are free, below the ephemeral range', async () => {
    const offset = await findFreeOffset();
    const ports = planPorts(offset);
    expect(await findTakenPort(claimPorts(ports, '127.0.0.1', ['nats', 'redis', 'mongodb']))).toBeUndefined();
    expect(Math.max(...Object.values(ports))).toBeLessThan(32_768);
  });
});

describe('claimFreeOffset', () => {
  it('claims offsets without a common port for concurrent starts', async () => {
    const claims = await Promise.all([1, 2, 3, 4].map(() => claimFreeOffset()));
    const ports = claims.flatMap(({ offset }) => Object.values(planPorts(offset)));
    expect(new Set(ports).size).toBe(ports.length);
    await Promise.all(claims.map(({ release }) => release()));
  });

  it('allows further claims after the release', async () => {
    // More often than the number of concurrent claims.
    for (let times = 0; times < 12; times += 1) {
      const { offset, release } = await claimFreeOffset();
      expect(offset).toBeGreaterThan(0);
      await release();
    }
  });
});
