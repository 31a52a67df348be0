import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ObjectStore } from './object-store.ts';

// Real connections on a machine that may be busy.
jest.setTimeout(60_000);

describe('ObjectStore with a server that never responds', () => {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('error', () => socket.destroy());
    socket.resume();
  });
  let dir: string;
  let objects: ObjectStore;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'fleet-objects-'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    objects = new ObjectStore({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      bucket: 'silent',
      prefix: '',
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
      inactivityTimeoutMs: 200,
    });
  });
  afterEach(async () => {
    objects.close();
    for (const socket of connections) socket.destroy();
    connections.clear();
    await new Promise((resolve) => server.close(resolve));
    await rm(dir, { recursive: true, force: true });
  });

  it('times out for every operation', async () => {
    const file = join(dir, 'file');
    await writeFile(file, 'content');
    const range = { start: 0, end: 1 };
    const requests = [
      objects.check(),
      objects.find('key'),
      objects.read('key', range),
      objects.readFast('key', range),
      objects.put('key', file, 'image/jpeg'),
      objects.remove('key'),
    ];
    const ended = await Promise.allSettled(requests);
    const timedOut = { status: 'rejected', reason: expect.objectContaining({ name: 'TimeoutError' }) };
    expect(ended).toEqual(requests.map(() => timedOut));
    expect(connections.size).toBeGreaterThan(0);
  });
});
