import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { probe, probeUrl } from './probe.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function serve(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const respondWith = (response: string) => (socket: Socket) => {
  socket.once('data', () => socket.write(response));
};

describe('probe', () => {
  it('accepts a Redis that responds or requires a password, and rejects one that is still loading', async () => {
    expect(await probe('redis', '127.0.0.1', await serve(respondWith('+PONG\r\n')))).toBe(true);
    expect(await probe('redis', '127.0.0.1', await serve(respondWith('-NOAUTH Authentication required.\r\n')))).toBe(
      true,
    );
    expect(await probe('redis', '127.0.0.1', await serve(respondWith('-LOADING Redis is loading\r\n')))).toBe(false);
  });

  it('recognizes NATS by its first line, also in several chunks', async () => {
    const port = await serve((socket) => {
      socket.write('INFO {"server_id"');
      setImmediate(() => socket.write(':"x"}\r\n'));
    });
    expect(await probe('nats', '127.0.0.1', port)).toBe(true);
    expect(await probe('nats', '127.0.0.1', await serve((socket) => socket.write('SSH-2.0\r\n')))).toBe(false);
  });

  it('sends a well-formed OP_MSG to MongoDB and accepts only the matching reply', async () => {
    const requests: Buffer[] = [];
    const port = await serve((socket) => {
      socket.once('data', (request: Buffer) => {
        requests.push(request);
        const reply = Buffer.alloc(16);
        reply.writeInt32LE(request.readInt32LE(4), 8);
        reply.writeInt32LE(2013, 12);
        socket.write(reply);
      });
    });
    expect(await probe('mongodb', '127.0.0.1', port)).toBe(true);
    const [request = Buffer.alloc(0)] = requests;
    expect(request.readInt32LE(0)).toBe(request.length);
    expect(request.subarray(21).toString('hex')).toBe('1e0000001070696e67000100000002246462000600000061646d696e0000');
  });

  it('returns false if nothing listens, or the connection is closed immediately', async () => {
    const port = await serve((socket) => socket.destroy());
    expect(await probe('nats', '127.0.0.1', port)).toBe(false);
    expect(await probe('redis', '127.0.0.1', 1)).toBe(false);
  });
});

describe('probeUrl', () => {
  it('probes the first server of a list, with or without a scheme', async () => {
    const port = await serve((socket) => socket.write('INFO {}\r\n'));
    expect(await probeUrl('nats', `nats://127.0.0.1:${port},nats://127.0.0.1:1`)).toBe(true);
    expect(await probeUrl('nats', `127.0.0.1:${port}`)).toBe(true);
    expect(await probeUrl('nats', 'nats://127.0.0.1:1')).toBe(false);
  });

  it('accepts encrypted servers without a probe, and throws for an invalid URL', async () => {
    expect(await probeUrl('redis', 'rediss://127.0.0.1:1')).toBe(true);
    await expect(probeUrl('redis', 'redis://127.0.0.1:port')).rejects.toThrow(/Invalid URL/);
    await expect(probeUrl('mongodb', 'http://127.0.0.1')).rejects.toThrow(/http: is not a scheme of mongodb/);
  });
});
